/** `npm run program -- FILE`: the command line as one file, for a machine that has Node 20 and nothing of this project. */
import path from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { build, type Plugin } from 'esbuild';
import * as z from 'zod';
import { pythonText } from './init/programs.ts';
import { buildPage } from './page/page-files.ts';

const USAGE = `npm run program -- FILE

Writes the command line with all that it needs, the page included, to one file. node FILE runs it.`;

/** The program has no esbuild: the page that it serves is built now. */
const builtPage: Plugin = {
  name: 'built-page',
  setup(made) {
    made.onLoad({ filter: /[/\\]cli[/\\]page[/\\]page-files\.ts$/ }, async () => ({
      contents: await pageModule(),
      loader: 'ts',
    }));
  },
};

/** Nor has it files beside it. */
const insidePrograms: Plugin = {
  name: 'inside-programs',
  setup(made) {
    made.onLoad({ filter: /[/\\]cli[/\\]init[/\\]programs\.ts$/ }, async () => {
      const names = ['read_launch.py', 'unpack_source.py'] as const;
      const texts = await Promise.all(names.map(async (name) => [name, await pythonText(name)] as const));
      const contents = `const texts = ${JSON.stringify(Object.fromEntries(texts))};
export const pythonText = async (name) => texts[name];`;
      return { contents, loader: 'ts' };
    });
  },
};

/** Node 20 has no zstd, which only the lists of datasets need. A module that imports a missing name does not even start. */
const zlibOfAnyNode: Plugin = {
  name: 'zlib-of-any-node',
  setup(made) {
    made.onResolve({ filter: /^node:zlib$/ }, ({ namespace, path: name }) =>
      namespace === 'zlib' ? { path: name, external: true } : { path: name, namespace: 'zlib' },
    );
    made.onLoad({ filter: /.*/, namespace: 'zlib' }, () => ({
      contents: "module.exports = require('node:zlib');",
    }));
  },
};

async function pageModule(): Promise<string> {
  const files = [...(await buildPage())].map(([name, { type, brotli, gzip }]) => [
    name,
    { type, brotli: Buffer.from(brotli).toString('base64'), gzip: Buffer.from(gzip).toString('base64') },
  ]);
  return `const files = ${JSON.stringify(files)};
const bytes = (text) => Buffer.from(text, 'base64');
export const buildPage = async () =>
  new Map(files.map(([name, { type, brotli, gzip }]) => [name, { type, brotli: bytes(brotli), gzip: bytes(gzip) }]));`;
}

/** Packages in CommonJS call require, which a module has to make for itself. */
const BANNER = `#!/usr/bin/env node
import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);`;

await runCommand(USAGE, async (args) => {
  const { positionals } = readCommandLine(args, { options: {}, schema: z.object({}), positionals: ['FILE'] });
  await build({
    entryPoints: [path.join(import.meta.dirname, 'tidewheel.ts')],
    outfile: path.resolve(process.env['INIT_CWD'] ?? process.cwd(), positionals[0] ?? ''),
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    banner: { js: BANNER },
    plugins: [builtPage, insidePrograms, zlibOfAnyNode],
    // Only in a clone: the region, its tests and the decoders of images.
    external: ['sharp', '@node-rs/crc32', 'esbuild'],
    logLevel: 'warning',
  });
  return 0;
});
