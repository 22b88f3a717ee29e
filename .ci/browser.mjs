// Opens the page for people and documents in a real browser, and fails where
// anything is wrong with them. Arguments: the URL of the publication, its directory, a
// folder for pictures, and the documents to open, of which the first is the page.
import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.env.MODULES + '/');
const puppeteer = require('puppeteer-core');
const axe = require.resolve('axe-core/axe.min.js');

const [base, directory, folder, ...paths] = process.argv.slice(2);
const failures = [];
const fail = (what) => { failures.push(what); console.error('FAILED: ' + what); };

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
});

const views = [
  { name: 'wide', width: 1200, height: 900 },
  { name: 'phone', width: 360, height: 740, isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
];

for (const [i, path] of paths.entries()) {
  for (const view of views) {
    for (const scheme of ['light', 'dark']) {
      await look(path, new URL(path, base), view, scheme, i === 0);
    }
  }
  await look(`${path} from the disk`, pathToFileURL(`${directory}/${decodeURIComponent(path)}`), views[0], 'light', false);
}
await links(paths[0]);
await browser.close();
console.log(`${paths.length} documents, each wide and on a telephone, light and dark, and from the disk: ${failures.length} failures`);
process.exitCode = failures.length ? 1 : 0;

// isIcon tells what a browser looks for at the top of any host.
function isIcon(url) { return url?.endsWith('/favicon.ico'); }

// look opens a document, and keeps a picture of it.
async function look(path, url, view, scheme, isPage) {
  const where = `${path} (${view.name}, ${scheme})`;
  const page = await browser.newPage();
  page.on('console', (m) => { if (['error', 'warn'].includes(m.type()) && !isIcon(m.location().url)) fail(`${where}: the console says: ${m.text()}`); });
  page.on('pageerror', (e) => fail(`${where}: ${e.message}`));
  page.on('requestfailed', (r) => fail(`${where}: ${r.url()} could not be fetched`));
  page.on('response', (r) => { if (r.status() >= 400 && !isIcon(r.url())) fail(`${where}: ${r.url()} answers ${r.status()}`); });
  await page.setViewport(view);
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  await page.goto(url, { waitUntil: 'networkidle0' });
  const picture = await page.screenshot({ fullPage: isPage });
  writeFileSync(`${folder}/${path.replaceAll(/[^A-Za-z]+/g, '-')}-${view.name}-${scheme}.png`, picture);
  const seen = await page.evaluate(() => {
    const root = document.documentElement;
    return { display: getComputedStyle(root).display, overflow: root.scrollWidth - root.clientWidth, scripts: document.scripts?.length ?? 0 };
  });
  if (seen.display !== 'block') fail(`${where}: the style sheet has no effect`);
  if (seen.overflow > 0) fail(`${where}: it is ${seen.overflow} pixels wider than the window`);
  if (isPage) await accessible(page, where);
  await page.close();
}

// accessible checks the page by the rules of axe.
async function accessible(page, where) {
  // The page's own policy lets no script in: this one is let in by the protocol.
  await page.evaluate(readFileSync(axe, 'utf8'));
  const { violations } = await page.evaluate(() => axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  }));
  for (const v of violations) {
    fail(`${where}: ${v.id}: ${v.help}: ${v.nodes.map((n) => n.html).slice(0, 3).join(' … ')}`);
  }
}

// links makes sure that all links of the page lead somewhere.
async function links(path) {
  const page = await browser.newPage();
  await page.goto(new URL(path, base));
  const hrefs = await page.evaluate(() => [...new Set([...document.querySelectorAll('a')].map((a) => a.href))]);
  if (hrefs.length < 3) fail(`${path}: it has ${hrefs.length} links`);
  for (const href of hrefs) {
    const status = await fetch(href).then((answer) => answer.status, (error) => error.message);
    if (status !== 200) fail(`${path}: the link to ${href} answers ${status}`);
  }
  // With the keyboard alone, the first link can be reached and followed.
  await page.keyboard.press('Tab');
  const tag = await page.evaluate(() => document.activeElement.tagName);
  if (tag !== 'A') fail(`${path}: the keyboard reaches ${tag} first, not a link`);
  await page.close();
}
