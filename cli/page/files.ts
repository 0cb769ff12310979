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
  const [html, built] = await Promise.all([
    readFile(path.join(FOLDER, 'index.html')),
    build({
      entryPoints: { main: path.join(FOLDER, 'main.tsx'), style: path.join(FOLDER, 'style/main.css') },
      outdir: FOLDER,
      bundle: true,
      minify: true,
      write: false,
      format: 'esm',
      target: 'es2022',
      jsx: 'automatic',
      jsxImportSource: 'preact',
      logLevel: 'silent',
    }),
  ]);
  const fileAt = (name: string): Uint8Array => {
    const file = built.outputFiles.find((each) => path.basename(each.path) === name);
    if (file === undefined) throw new Error(`the page's build made no ${name}`);
    return file.contents;
  };
  return new Map<string, PageFile>([
    ['/', { type: 'text/html; charset=utf-8', content: html }],
    ['/style.css', { type: 'text/css; charset=utf-8', content: fileAt('style.css') }],
    ['/main.js', { type: 'text/javascript; charset=utf-8', content: fileAt('main.js') }],
  ]);
}
