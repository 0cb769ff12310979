/** Node programs run bundled, ours and the peers' alike, as they would in a Lambda: loading sources costs 0.7 s. */
import path from 'node:path';
import { buildSync } from 'esbuild';

const BANNER =
  "import { createRequire as toRequire } from 'node:module'; const require = toRequire(import.meta.url);";

/** @returns the bundle, in the folder */
export function bundle(file: string, folder: string): string {
  const outfile = path.join(folder, `${path.basename(file, '.ts')}.mjs`);
  buildSync({
    entryPoints: [file],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    /** As serverless.yml leaves them out: native helpers that are not needed here. */
    external: ['@node-rs/crc32', 'sharp'],
    banner: { js: BANNER },
    logLevel: 'error',
  });
  return outfile;
}
