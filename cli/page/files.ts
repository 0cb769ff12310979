/** The page's files, built as a browser takes them. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

export interface PageFile {
  readonly type: string;
  readonly brotli: Uint8Array;
  /** For browsers that take brotli over TLS alone. */
  readonly gzip: Uint8Array;
}

const FOLDER = path.join(import.meta.dirname, '../../page');

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** @returns by path in the address */
export async function buildPage(): Promise<ReadonlyMap<string, PageFile>> {
  const [html, built] = await Promise.all([
    readFile(path.join(FOLDER, 'index.html')),
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
  const files = built.outputFiles.map(({ path: file, contents }): readonly [string, PageFile] => [
    `/${path.basename(file)}`,
    fileOf(TYPES[path.extname(file)] ?? 'application/octet-stream', contents),
  ]);
  return new Map([['/', fileOf('text/html; charset=utf-8', html)], ...files]);
}

const fileOf = (type: string, content: Uint8Array): PageFile => ({
  type,
  brotli: brotliCompressSync(content),
  gzip: gzipSync(content, { level: 9 }),
});
