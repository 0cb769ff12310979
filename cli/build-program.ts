/** The command line as a program of its own, split by verb: for this clone, or as a package for a machine that has only Node. */
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { build, type Metafile, type Plugin } from 'esbuild';
import * as z from 'zod';
import project from '../package.json' with { type: 'json' };
import { about } from './about.ts';
import { pythonText } from './init/programs.ts';
import { buildPage } from './page/page-files.ts';

const USAGE = `npm run program -- FOLDER

Writes the command line with all that it needs, the page included, as a package for Node 20 and newer:
node FOLDER/tidewheel.mjs runs it, npm pack FOLDER makes a file of it that npm install takes.

  --clone   instead, for this clone alone: it runs with the clone's own files beside it`;

const ROOT = path.join(import.meta.dirname, '..');
const isPlugins = (given: unknown): given is readonly Plugin[] => Array.isArray(given);
const given: unknown = createRequire(import.meta.url)('../serverless/smaller-bundles.cjs');
const smaller = isPlugins(given) ? given : [];
const SMALLER = ['operations-in-use', 'versions-of-clients'];

/** A module of the sources whose text is known now. */
const madeNow = (file: string, contents: () => Promise<string>): Plugin => ({
  name: `made-now-${file}`,
  setup(build) {
    build.onLoad(
      { filter: new RegExp(`[/\\\\]cli[/\\\\]${file.replace('/', '[/\\\\]')}\\.ts$`) },
      async () => ({
        contents: await contents(),
        loader: 'ts',
      }),
    );
  },
});

/** Help, completions and version load no verb. */
const knownAbout = madeNow(
  'about',
  async () => `const all = ${JSON.stringify(await about())};\nexport const about = async () => all;`,
);

/** A package has no esbuild: the page that it serves is built now. */
const builtPage = madeNow('page/page-files', async () => {
  const files = [...(await buildPage())].map(([name, { type, brotli, gzip }]) => [
    name,
    { type, brotli: Buffer.from(brotli).toString('base64'), gzip: Buffer.from(gzip).toString('base64') },
  ]);
  return `const files = ${JSON.stringify(files)};
const bytes = (text) => Buffer.from(text, 'base64');
export const buildPage = async () =>
  new Map(files.map(([name, { type, brotli, gzip }]) => [name, { type, brotli: bytes(brotli), gzip: bytes(gzip) }]));`;
});

/** Nor has it files beside it. */
const insidePrograms = madeNow('init/programs', async () => {
  const names = ['read_launch.py', 'unpack_source.py'] as const;
  const texts = await Promise.all(names.map(async (name) => [name, await pythonText(name)] as const));
  return `const texts = ${JSON.stringify(Object.fromEntries(texts))};
export const pythonText = async (name) => texts[name];`;
});

/** In a clone the files beside a source are there, and the page is built when it is served. */
const besideSources: Plugin = {
  name: 'beside-sources',
  setup(build) {
    build.onResolve({ filter: /\/built-page\.cjs$/ }, () => ({
      path: path.join(ROOT, 'serverless/built-page.cjs'),
      external: true,
    }));
    build.onLoad({ filter: /\.ts$/ }, async ({ path: file }) => {
      const text = file.includes('node_modules') ? '' : await readFile(file, 'utf8');
      if (!text.includes('import.meta.')) return undefined;
      const contents = text
        .replaceAll('import.meta.dirname', JSON.stringify(path.dirname(file)))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file).href));
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

/** Packages in CommonJS call require, which a module has to make for itself. */
const BANNER = `import { createRequire as makeRequire } from 'node:module';
const require = makeRequire(import.meta.url);`;

/** Names of files hold a hash of their content, so a program that runs keeps its own. */
async function buildInto(folder: string, plugins: readonly Plugin[]): Promise<Metafile> {
  const { metafile } = await build({
    entryPoints: [path.join(import.meta.dirname, 'tidewheel.ts')],
    outdir: folder,
    entryNames: 'main-[hash]',
    chunkNames: '[name]-[hash]',
    outExtension: { '.js': '.mjs' },
    absWorkingDir: ROOT,
    bundle: true,
    splitting: true,
    minify: true,
    metafile: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    mainFields: ['module', 'main'],
    banner: { js: BANNER },
    plugins: [...plugins, ...smaller.filter(({ name }) => SMALLER.includes(name)), zlibOfAnyNode],
    // Only in a clone: the region, its tests and the decoders of images.
    external: ['sharp', '@node-rs/crc32', 'esbuild'],
    logLevel: 'warning',
  });
  return metafile;
}

const entryOf = ({ outputs }: Metafile): string =>
  path.resolve(
    ROOT,
    Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === 'cli/tidewheel.ts')?.[0] ?? '',
  );

const DAY_MILLISECONDS = 86_400_000;

async function forClone(folder: string): Promise<void> {
  const startedAt = Date.now();
  const metafile = await buildInto(folder, [knownAbout, besideSources]);
  const sources = Object.keys(metafile.inputs).filter((file) => !/(^|\/)node_modules\/|^zlib:/.test(file));
  const others = [
    'package-lock.json',
    'node_modules/.package-lock.json',
    'package.json',
    'cli/build-program.ts',
  ];
  const inputs = await Promise.all(
    [...sources, 'cli/command/completion.ts', ...others].map(async (file) => {
      const { size, mtimeMs } = await stat(path.join(ROOT, file));
      // What changed meanwhile may have been read before.
      return [file, size, mtimeMs < startedAt ? mtimeMs : 0];
    }),
  );
  await writeFile(path.join(folder, 'record.json'), JSON.stringify({ entry: entryOf(metafile), inputs }));
  const made = new Set(Object.keys(metafile.outputs).map((file) => path.basename(file)));
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    const isOld = (await stat(file)).mtimeMs < startedAt - DAY_MILLISECONDS;
    if (isOld && name.endsWith('.mjs') && !made.has(name)) await rm(file);
  }
}

const launcherOf = (entry: string): string => `#!/usr/bin/env node
import module from 'node:module';
import os from 'node:os';
import path from 'node:path';

const caches = process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache');
module.enableCompileCache?.(path.join(caches, 'tidewheel'));
await import('./${entry}');
`;

async function asPackage(folder: string): Promise<void> {
  const metafile = await buildInto(folder, [knownAbout, builtPage, insidePrograms]);
  const launcher = path.join(folder, 'tidewheel.mjs');
  await writeFile(launcher, launcherOf(path.basename(entryOf(metafile))), { mode: 0o755 });
  const { version, description, license, engines } = project;
  const manifest = {
    name: '@tidewheel/cli',
    version,
    description,
    license,
    engines,
    type: 'module',
    bin: { tidewheel: 'tidewheel.mjs' },
    files: ['*.mjs'],
  };
  await writeFile(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

await runCommand(USAGE, async (args) => {
  const { values, positionals } = readCommandLine(args, {
    schema: z.object({ clone: z.boolean().default(false) }),
    positionals: ['FOLDER'],
  });
  const folder = path.resolve(process.env['INIT_CWD'] ?? process.cwd(), positionals[0] ?? '');
  await mkdir(folder, { recursive: true });
  await (values.clone ? forClone(folder) : asPackage(folder));
  return 0;
});
