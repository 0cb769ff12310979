/**
 * The page, built as a browser takes it: for the servers on loopback (cli/page), and for the function that serves it from a
 * stack (functions/handlers/page).
 */
const { createHash } = require('node:crypto');
const fs = require('node:fs/promises');
const path = require('node:path');
const zlib = require('node:zlib');
const { build } = require('esbuild');

const FOLDER = path.join(__dirname, '../page');

const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};
const HTML = 'text/html; charset=utf-8';

/**
 * @typedef {object} BuiltFile
 * @property {string} path in the address, such as `/page/main.js`
 * @property {string} type
 * @property {Buffer} brotli
 * @property {Buffer} gzip for browsers that take brotli over TLS alone
 */

/** @returns {Promise<BuiltFile[]>} the document first, at `/` */
async function buildPage() {
  const [html, built] = await Promise.all([
    fs.readFile(path.join(FOLDER, 'index.html')),
    build({
      entryPoints: { main: path.join(FOLDER, 'main.tsx'), style: path.join(FOLDER, 'style/main.css') },
      outdir: FOLDER,
      bundle: true,
      // The first screen waits for no chart.
      splitting: true,
      minify: true,
      write: false,
      format: 'esm',
      target: 'es2022',
      jsx: 'automatic',
      jsxImportSource: 'preact',
      logLevel: 'silent',
    }),
  ]);
  const files = built.outputFiles.map(({ path: file, contents }) =>
    compressed(`/page/${path.basename(file)}`, TYPES[path.extname(file)] ?? 'application/octet-stream', contents),
  );
  return [compressed('/', HTML, html), ...files];
}

const compressed = (path, type, content) => ({
  path,
  type,
  brotli: zlib.brotliCompressSync(content, {
    params: {
      [zlib.constants.BROTLI_PARAM_MODE]: zlib.constants.BROTLI_MODE_TEXT,
      [zlib.constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    },
  }),
  gzip: zlib.gzipSync(content, { level: 9 }),
});

/** Puts the files into the bundle of functions/handlers/page. Plugins of esbuild see the modules of every function. */
const builtPage = {
  name: 'built-page',
  setup(bundling) {
    bundling.onLoad({ filter: /[/\\]handlers[/\\]page[/\\]page-files\.ts$/ }, async () => {
      const [document, ...others] = await buildPage();
      const files = others.map((file) => ({
        ...file,
        etag: `"${createHash('sha256').update(file.brotli).digest('base64url').slice(0, 22)}"`,
        brotli: file.brotli.toString('base64'),
        gzip: file.gzip.toString('base64'),
      }));
      const html = zlib.brotliDecompressSync(document.brotli).toString();
      return {
        contents: `export const HTML = ${JSON.stringify(html)}; export const FILES = ${JSON.stringify(files)};`,
        loader: 'js',
      };
    });
  },
};

module.exports = { buildPage, builtPage };
