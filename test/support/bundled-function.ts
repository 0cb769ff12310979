/** A function's code, as serverless.yml has it bundled. */
import { createRequire } from 'node:module';
import path from 'node:path';
import { build, type Plugin } from 'esbuild';

const PROJECT = path.join(import.meta.dirname, '../..');
const plugins: Plugin[] = createRequire(import.meta.url)('../../serverless/smaller-bundles.cjs');

/**
 * @param name of its folder
 * @returns text of the bundle, `index.mjs`, and of the files beside it, by name
 */
export async function bundledFunction(name: string): Promise<Readonly<Record<string, string>>> {
  const { outputFiles } = await build({
    entryPoints: { index: path.join(PROJECT, `functions/handlers/${name}/handler.ts`) },
    outdir: PROJECT,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    write: false,
    minify: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    mainFields: ['module', 'main'],
    external: ['@node-rs/crc32', 'sharp'],
    plugins,
  });
  return Object.fromEntries(outputFiles.map((file) => [path.basename(file.path), file.text]));
}
