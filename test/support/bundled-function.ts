/** A function's code in one file, as serverless.yml has it bundled. */
import { createRequire } from 'node:module';
import path from 'node:path';
import { build, type Plugin } from 'esbuild';

const PROJECT = path.join(import.meta.dirname, '../..');
const plugins: Plugin[] = createRequire(import.meta.url)('../../serverless/smaller-bundles.cjs');

/** @param name of its folder */
export async function bundledFunction(name: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [path.join(PROJECT, `functions/handlers/${name}/handler.ts`)],
    bundle: true,
    write: false,
    minify: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    mainFields: ['module', 'main'],
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
    external: ['@node-rs/crc32', 'sharp'],
    plugins,
  });
  return outputFiles[0]?.text ?? '';
}
