// Package zipdump writes the ZIP packages of Resource Dumps and Change Dumps,
// and reads them again: bitstreams below resources/, and a manifest.xml at the
// end. The same bitstreams give the same bytes. Compressing is apart from
// writing, so that many workers can do it at once, and what is compressed can
// go into two packages, or over from an earlier one.
//
// The containers are as plain as can be: names are UTF-8 and flagged as such,
// sizes stand before the content and not behind it, and there is nothing of
// ZIP64 where it is not needed. Package archive/zip cannot write entries of
// more than 4 GiB in that way. What a manifest says, and which bitstreams go
// into which package, is for others to decide.
//
// See Z39.99-2017 §11.2 and §13.2 for the packages, and PKWARE's APPNOTE.TXT
// for the format.
package zipdump
