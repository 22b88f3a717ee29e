package hashing

import (
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

// SniffLength is how many first bytes Sniff wants.
const SniffLength = 3072

// longestExtension is the length of the table's longest key. It bounds the
// buffer that folds the case of an extension, so that folding needs no heap.
const longestExtension = len("webmanifest")

// octetStream is what the sniffing library calls bytes it does not know.
const octetStream = "application/octet-stream"

// The library takes input shorter than its limit for a whole file, and input
// as long as the limit for the start of one. Were its limit not SniffLength,
// the start of a long JSON file would look like a broken one.
func init() { mimetype.SetLimit(SniffLength) }

// MediaType returns the media type a web host would send for a file of this
// name whose first bytes are head, or "" where neither tells. The name comes
// first, since hosts go by it alone. The answer is the same on every machine.
func MediaType(name string, head []byte) string {
	if t := ByExtension(name); t != "" {
		return t
	}
	return Sniff(head)
}

// ByExtension returns the media type that the name's extension stands for, or
// "" where it says nothing. The name is a slash path or a base name; case does
// not matter.
//
// Only the text after the last dot counts: a host that sends stored bytes as
// they are sends a.tar.gz, a.warc.gz and a.xml.gz alike as application/gzip.
func ByExtension(name string) string {
	ext := extension(name)
	if hasUpper(ext) {
		return byFoldedExtension(ext)
	}
	return extensionTypes[ext]
}

// extension returns the text after the last dot of the base name, or "". The
// dot of a hidden file (".html") starts its name, not an extension.
func extension(name string) string {
	base := name[strings.LastIndexByte(name, '/')+1:]
	dot := strings.LastIndexByte(base, '.')
	if dot <= 0 {
		return ""
	}
	return base[dot+1:]
}

func hasUpper(s string) bool {
	for i := range len(s) {
		if isUpper(s[i]) {
			return true
		}
	}
	return false
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// byFoldedExtension folds ASCII only: Unicode has letters outside ASCII that
// fold into it (the Kelvin sign), and no host takes those for an extension.
func byFoldedExtension(ext string) string {
	if len(ext) > longestExtension {
		return ""
	}
	var folded [longestExtension]byte
	for i := range len(ext) {
		folded[i] = ext[i]
		if isUpper(ext[i]) {
			folded[i] += 'a' - 'A'
		}
	}
	return extensionTypes[string(folded[:len(ext)])]
}

// Sniff returns the media type that the first bytes of a file show, or ""
// where they show none. Bytes past SniffLength are not looked at; a shorter
// head is taken to be the whole file.
func Sniff(head []byte) string {
	if len(head) == 0 {
		return "" // the library would call an empty file text
	}
	head = head[:min(len(head), SniffLength)]
	t, _, _ := strings.Cut(mimetype.Detect(head).String(), ";")
	if t == octetStream {
		return ""
	}
	return t
}

// extensionTypes maps lower-case extensions, without their dot, to media types
// without parameters: a name does not show which charset a file is in.
//
// A registered type wins, unless hosts agree on another; then the entry says
// so. An extension that two formats share (.ts, .key, .dot, .asc), or whose
// files a host runs instead of sending (.php), is left out, so that the bytes
// decide. Groups are in alphabetical order of their keys.
var extensionTypes = map[string]string{
	// Web pages, their styles, scripts and data.
	"appcache":    "text/cache-manifest",
	"atom":        "application/atom+xml",
	"cjs":         "application/node",
	"css":         "text/css",
	"htm":         "text/html",
	"html":        "text/html",
	"js":          "text/javascript",
	"json":        "application/json",
	"json5":       "application/json5",
	"jsonld":      "application/ld+json",
	"map":         "application/json", // source maps
	"mathml":      "application/mathml+xml",
	"mjs":         "text/javascript",
	"mml":         "application/mathml+xml",
	"opml":        "text/x-opml",
	"rss":         "application/rss+xml", // not registered, yet all hosts send it
	"shtml":       "text/html",
	"swf":         "application/x-shockwave-flash", // the registered vnd.adobe.flash.movie came too late
	"wasm":        "application/wasm",
	"webmanifest": "application/manifest+json",
	"xht":         "application/xhtml+xml",
	"xhtml":       "application/xhtml+xml",

	// XML and what goes with it.
	"dtd":   "application/xml-dtd",
	"rnc":   "application/relax-ng-compact-syntax",
	"rng":   "application/xml",
	"sgm":   "text/sgml",
	"sgml":  "text/sgml",
	"wsdl":  "application/wsdl+xml",
	"xlf":   "application/xliff+xml",
	"xliff": "application/xliff+xml",
	"xml":   "application/xml",
	"xsd":   "application/xml",
	"xsl":   "application/xslt+xml",
	"xslt":  "application/xslt+xml",

	// Plain and lightly marked-up text.
	"conf":     "text/plain",
	"csv":      "text/csv",
	"ini":      "text/plain",
	"log":      "text/plain",
	"markdown": "text/markdown",
	"md":       "text/markdown",
	"text":     "text/plain",
	"toml":     "application/toml",
	"tsv":      "text/tab-separated-values",
	"txt":      "text/plain",
	"yaml":     "application/yaml",
	"yml":      "application/yaml",

	// Calendars, contacts and mail.
	"eml":   "message/rfc822",
	"ics":   "text/calendar",
	"ifb":   "text/calendar",
	"mbox":  "application/mbox",
	"mht":   "message/rfc822",
	"mhtml": "message/rfc822",
	"msg":   "application/vnd.ms-outlook",
	"vcard": "text/vcard",
	"vcf":   "text/vcard",

	// Linked data.
	"hdt":  "application/vnd.hdt",
	"n3":   "text/n3",
	"nq":   "application/n-quads",
	"nt":   "application/n-triples",
	"owl":  "application/rdf+xml", // OWL documents are RDF/XML unless named .owx
	"owx":  "application/owl+xml",
	"rdf":  "application/rdf+xml",
	"rj":   "application/rdf+json",
	"rq":   "application/sparql-query",
	"ru":   "application/sparql-update",
	"shex": "text/shex",
	"srj":  "application/sparql-results+json",
	"srx":  "application/sparql-results+xml",
	"trig": "application/trig",
	"trix": "application/trix",
	"ttl":  "text/turtle",

	// Library and archive records, web archives.
	"arc":       "application/x-internet-archive",
	"ged":       "text/vnd.familysearch.gedcom",
	"mads":      "application/mads+xml",
	"marc":      "application/marc",
	"mets":      "application/mets+xml",
	"mods":      "application/mods+xml",
	"mrc":       "application/marc",
	"mrcx":      "application/marcxml+xml",
	"sru":       "application/sru+xml",
	"tei":       "application/tei+xml",
	"teicorpus": "application/tei+xml",
	"wacz":      "application/wacz",
	"warc":      "application/warc",

	// Citations, TeX and page description. (.ai is left out: it holds
	// PostScript or PDF.)
	"bib":   "text/x-bibtex",
	"djv":   "image/vnd.djvu",
	"djvu":  "image/vnd.djvu",
	"dvi":   "application/x-dvi",
	"eps":   "application/postscript",
	"latex": "application/x-latex",
	"oxps":  "application/oxps",
	"pdf":   "application/pdf",
	"ps":    "application/postscript",
	"ris":   "application/x-research-info-systems",
	"tex":   "application/x-tex",
	"xps":   "application/vnd.ms-xpsdocument",

	// Electronic books.
	"azw":  "application/vnd.amazon.ebook",
	"azw3": "application/vnd.amazon.mobi8-ebook",
	"cbr":  "application/vnd.comicbook-rar",
	"cbz":  "application/vnd.comicbook+zip",
	"chm":  "application/vnd.ms-htmlhelp",
	"epub": "application/epub+zip",
	"mobi": "application/x-mobipocket-ebook",
	"ncx":  "application/x-dtbncx+xml",
	"opf":  "application/oebps-package+xml",

	// Office documents: Microsoft.
	"doc":  "application/msword",
	"docm": "application/vnd.ms-word.document.macroenabled.12",
	"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"dotm": "application/vnd.ms-word.template.macroenabled.12",
	"dotx": "application/vnd.openxmlformats-officedocument.wordprocessingml.template",
	"one":  "application/onenote",
	"potx": "application/vnd.openxmlformats-officedocument.presentationml.template",
	"pps":  "application/vnd.ms-powerpoint",
	"ppsx": "application/vnd.openxmlformats-officedocument.presentationml.slideshow",
	"ppt":  "application/vnd.ms-powerpoint",
	"pptm": "application/vnd.ms-powerpoint.presentation.macroenabled.12",
	"pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"vsd":  "application/vnd.visio",
	"vsdx": "application/vnd.visio",
	"xls":  "application/vnd.ms-excel",
	"xlsb": "application/vnd.ms-excel.sheet.binary.macroenabled.12",
	"xlsm": "application/vnd.ms-excel.sheet.macroenabled.12",
	"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"xltx": "application/vnd.openxmlformats-officedocument.spreadsheetml.template",

	// Office documents: OpenDocument and its forerunner, and others.
	"numbers": "application/vnd.apple.numbers",
	"odc":     "application/vnd.oasis.opendocument.chart",
	"odf":     "application/vnd.oasis.opendocument.formula",
	"odg":     "application/vnd.oasis.opendocument.graphics",
	"odp":     "application/vnd.oasis.opendocument.presentation",
	"ods":     "application/vnd.oasis.opendocument.spreadsheet",
	"odt":     "application/vnd.oasis.opendocument.text",
	"otg":     "application/vnd.oasis.opendocument.graphics-template",
	"otp":     "application/vnd.oasis.opendocument.presentation-template",
	"ots":     "application/vnd.oasis.opendocument.spreadsheet-template",
	"ott":     "application/vnd.oasis.opendocument.text-template",
	"pages":   "application/vnd.apple.pages",
	"rtf":     "application/rtf",
	"sxc":     "application/vnd.sun.xml.calc",
	"sxi":     "application/vnd.sun.xml.impress",
	"sxw":     "application/vnd.sun.xml.writer",
	"wpd":     "application/vnd.wordperfect",

	// Scientific and tabular data, databases. (.db is left out: many formats
	// use it.)
	"arrow":   "application/vnd.apache.arrow.file",
	"arrows":  "application/vnd.apache.arrow.stream",
	"cbor":    "application/cbor",
	"cif":     "chemical/x-cif",
	"cml":     "chemical/x-cml",
	"cwl":     "application/cwl",
	"dbf":     "application/vnd.dbf",
	"dcm":     "application/dicom",
	"fits":    "application/fits",
	"fts":     "application/fits",
	"h5":      "application/x-hdf5",
	"hdf":     "application/x-hdf",
	"hdf5":    "application/x-hdf5",
	"ipynb":   "application/x-ipynb+json",
	"jsonl":   "application/x-ndjson", // the same format as .ndjson
	"mdb":     "application/x-msaccess",
	"nc":      "application/x-netcdf", // application/netcdf is only proposed
	"ndjson":  "application/x-ndjson",
	"parquet": "application/vnd.apache.parquet",
	"pcap":    "application/vnd.tcpdump.pcap",
	"sarif":   "application/sarif+json",
	"spdx":    "text/spdx",
	"sqlite":  "application/vnd.sqlite3",
	"sqlite3": "application/vnd.sqlite3",

	// Maps and places.
	"geojson": "application/geo+json",
	"gml":     "application/gml+xml",
	"gpkg":    "application/geopackage+sqlite3",
	"gpx":     "application/gpx+xml",
	"kml":     "application/vnd.google-earth.kml+xml",
	"kmz":     "application/vnd.google-earth.kmz",
	"las":     "application/vnd.las",
	"laz":     "application/vnd.laszip",
	"mvt":     "application/vnd.mapbox-vector-tile",

	// Models and drawings.
	"3mf":  "model/3mf",
	"dae":  "model/vnd.collada+xml",
	"dwg":  "image/vnd.dwg",
	"dxf":  "image/vnd.dxf",
	"glb":  "model/gltf-binary",
	"gltf": "model/gltf+json",
	"igs":  "model/iges",
	"mtl":  "model/mtl",
	"obj":  "model/obj",
	"step": "model/step",
	"stl":  "model/stl",
	"stp":  "model/step",
	"usdz": "model/vnd.usdz+zip",
	"wrl":  "model/vrml",
	"x3d":  "model/x3d+xml",

	// Images of the web.
	"apng": "image/apng",
	"avif": "image/avif",
	"bmp":  "image/bmp",
	"gif":  "image/gif",
	"ico":  "image/x-icon", // what nginx, Apache and the WHATWG say; the registered vnd.microsoft.icon is rarer
	"jfif": "image/jpeg",
	"jpe":  "image/jpeg",
	"jpeg": "image/jpeg",
	"jpg":  "image/jpeg",
	"jxl":  "image/jxl",
	"png":  "image/png",
	"svg":  "image/svg+xml",
	"svgz": "image/svg+xml", // as registered: its gzip is a content coding
	"webp": "image/webp",

	// Images of archives, cameras and editors.
	"cgm":  "image/cgm",
	"dng":  "image/x-adobe-dng",
	"emf":  "image/emf",
	"heic": "image/heic",
	"heif": "image/heif",
	"j2c":  "image/j2c",
	"jp2":  "image/jp2",
	"jpf":  "image/jpx",
	"jpg2": "image/jp2",
	"jph":  "image/jph",
	"jpm":  "image/jpm",
	"jpx":  "image/jpx",
	"jxr":  "image/jxr",
	"ktx2": "image/ktx2",
	"pbm":  "image/x-portable-bitmap",
	"pcx":  "image/vnd.zbrush.pcx",
	"pgm":  "image/x-portable-graymap",
	"pnm":  "image/x-portable-anymap",
	"ppm":  "image/x-portable-pixmap",
	"psd":  "image/vnd.adobe.photoshop",
	"tga":  "image/x-tga",
	"tif":  "image/tiff",
	"tiff": "image/tiff",
	"wmf":  "image/wmf",
	"xbm":  "image/x-xbitmap",
	"xcf":  "image/x-xcf",
	"xpm":  "image/x-xpixmap",

	// Fonts.
	"eot":   "application/vnd.ms-fontobject",
	"otf":   "font/otf",
	"pfa":   "application/x-font-type1",
	"pfb":   "application/x-font-type1",
	"ttc":   "font/collection",
	"ttf":   "font/ttf",
	"woff":  "font/woff",
	"woff2": "font/woff2",

	// Sound.
	"aac":  "audio/aac",
	"ac3":  "audio/ac3",
	"aif":  "audio/x-aiff",
	"aifc": "audio/x-aiff",
	"aiff": "audio/x-aiff",
	"amr":  "audio/amr",
	"au":   "audio/basic",
	"flac": "audio/flac",
	"m3u":  "audio/x-mpegurl",
	"m4a":  "audio/mp4",
	"mid":  "audio/midi",
	"midi": "audio/midi",
	"mka":  "audio/matroska",
	"mp2":  "audio/mpeg",
	"mp3":  "audio/mpeg",
	"oga":  "audio/ogg",
	"ogg":  "audio/ogg", // RFC 5334: video is .ogv
	"opus": "audio/ogg", // RFC 7845; audio/opus is for RTP
	"pls":  "audio/x-scpls",
	"spx":  "audio/ogg",
	"wav":  "audio/wav", // the registered audio/vnd.wave is hardly ever sent
	"weba": "audio/webm",
	"wma":  "audio/x-ms-wma",
	"xspf": "application/xspf+xml",

	// Moving images, their streams and subtitles. (.ts is left out: it is a
	// stream or TypeScript.)
	"3g2":  "video/3gpp2",
	"3gp":  "video/3gpp",
	"asf":  "video/x-ms-asf",
	"avi":  "video/x-msvideo",
	"f4v":  "video/x-f4v",
	"flv":  "video/x-flv",
	"m2ts": "video/mp2t",
	"m2v":  "video/mpeg",
	"m3u8": "application/vnd.apple.mpegurl",
	"m4s":  "video/iso.segment",
	"m4v":  "video/x-m4v",
	"mj2":  "video/mj2",
	"mkv":  "video/matroska", // RFC 9559
	"mov":  "video/quicktime",
	"mp4":  "video/mp4",
	"mpd":  "application/dash+xml",
	"mpe":  "video/mpeg",
	"mpeg": "video/mpeg",
	"mpg":  "video/mpeg",
	"mxf":  "application/mxf",
	"ogv":  "video/ogg",
	"ogx":  "application/ogg",
	"qt":   "video/quicktime",
	"rm":   "application/vnd.rn-realmedia",
	"smil": "application/smil+xml",
	"srt":  "application/x-subrip",
	"ttml": "application/ttml+xml",
	"vtt":  "text/vtt",
	"webm": "video/webm",
	"wmv":  "video/x-ms-wmv",

	// Compressed files and archives. Compressed tars are named for their
	// outer format, as their long names (.tar.gz) are.
	"7z":   "application/x-7z-compressed",
	"bz2":  "application/x-bzip2",
	"cab":  "application/vnd.ms-cab-compressed",
	"cpio": "application/x-cpio",
	"gz":   "application/gzip",
	"hqx":  "application/mac-binhex40",
	"lha":  "application/x-lzh-compressed",
	"lz4":  "application/x-lz4",
	"lzh":  "application/x-lzh-compressed",
	"lzma": "application/x-lzma",
	"rar":  "application/vnd.rar",
	"sit":  "application/x-stuffit",
	"tar":  "application/x-tar",
	"tbz":  "application/x-bzip2",
	"tbz2": "application/x-bzip2",
	"tgz":  "application/gzip",
	"txz":  "application/x-xz",
	"tzst": "application/zstd",
	"xz":   "application/x-xz",
	"z":    "application/x-compress",
	"zip":  "application/zip",
	"zst":  "application/zstd",

	// Software packages and disk images.
	"apk": "application/vnd.android.package-archive",
	"crx": "application/x-chrome-extension",
	"deb": "application/vnd.debian.binary-package",
	"dll": "application/vnd.microsoft.portable-executable",
	"dmg": "application/x-apple-diskimage",
	"exe": "application/vnd.microsoft.portable-executable",
	"iso": "application/x-iso9660-image",
	"jar": "application/java-archive",
	"msi": "application/x-msi",
	"rpm": "application/x-rpm",
	"war": "application/java-archive",
	"xpi": "application/x-xpinstall",

	// Certificates, signatures and download descriptions.
	"cer":     "application/pkix-cert",
	"crl":     "application/pkix-crl",
	"crt":     "application/x-x509-ca-cert",
	"der":     "application/x-x509-ca-cert",
	"meta4":   "application/metalink4+xml",
	"p7s":     "application/pkcs7-signature",
	"pem":     "application/x-x509-ca-cert",
	"sig":     "application/pgp-signature",
	"torrent": "application/x-bittorrent",

	// Source text that hosts know. (Go and Rust are left out: hosts do not
	// know the one, and some take .rs for a registered XML format.)
	"c":     "text/x-c",
	"cc":    "text/x-c",
	"cpp":   "text/x-c",
	"cxx":   "text/x-c",
	"diff":  "text/x-diff",
	"h":     "text/x-c",
	"hh":    "text/x-c",
	"java":  "text/x-java-source",
	"patch": "text/x-diff",
	"py":    "text/x-python",
	"sh":    "application/x-sh",
	"sql":   "application/sql",
}
