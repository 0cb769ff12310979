/** The page's files, built as a browser takes them. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { build } from 'esbuild';

export interface PageFile {
  readonly type: string;
  readonly content: string | Uint8Array;
}

const FOLDER = path.join(import.meta.dirname, '../../page');

/** @returns by path in the address */
export async function buildPage(): Promise<ReadonlyMap<string, PageFile>> {
  const [html, css, script] = await Promise.all([
    readFile(path.join(FOLDER, 'index.html')),
    readFile(path.join(FOLDER, 'style.css')),
    build({
      entryPoints: [path.join(FOLDER, 'main.ts')],
      bundle: true,
      minify: true,
      write: false,
      format: 'esm',
      target: 'es2022',
      logLevel: 'silent',
    }),
  ]);
  return new Map<string, PageFile>([
    ['/', { type: 'text/html; charset=utf-8', content: html }],
    ['/style.css', { type: 'text/css; charset=utf-8', content: css }],
    ['/main.js', { type: 'text/javascript; charset=utf-8', content: script.outputFiles[0]?.contents ?? '' }],
  ]);
}
