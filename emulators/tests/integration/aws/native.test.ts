/** Native packages lie beside the bundles: a function finds it as a layer's modules are found on Lambda, by NODE_PATH. */

import path from 'node:path';
import { IMAGE_ENGINE } from '@tidewheel/packing/images.ts';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestEmulator, type TestEmulator } from '../../../../test/support/emulator.ts';
import { createFunction, invoke } from './lambda.ts';

const ROOT = path.join(import.meta.dirname, '../../../..');
const CODE = `import { openImageEngine } from './functions/aws/images/image-engine.ts';
export const handler = async () => {
  const engine = openImageEngine();
  const image = { format: 'jpeg', background: '#000000', columns: ['image'], mostMegapixels: 1 };
  return { name: engine?.name ?? 'none', said: await engine?.prepare(Buffer.from('no picture'), image) };
};`;

async function bundled(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: CODE, resolveDir: ROOT, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['sharp'],
    write: false,
  });
  return outputFiles[0]?.text ?? '';
}

let withModules: TestEmulator;
let without: TestEmulator;
beforeAll(async () => {
  const environment = { NODE_PATH: path.join(ROOT, 'node_modules') };
  [withModules, without] = await Promise.all([startTestEmulator({ environment }), startTestEmulator()]);
}, 120_000);
afterAll(() => Promise.all([withModules.stop(), without.stop()]));

it('is loaded by a bundled function', async () => {
  await createFunction(withModules.url, 'images', await bundled());
  expect(await invoke(withModules.url, 'images')).toEqual({
    name: IMAGE_ENGINE,
    said: { kind: 'rejected', reason: 'imageUnknown' },
  });
}, 120_000);

it('is optional where the bundle has none', async () => {
  await createFunction(without.url, 'images', await bundled());
  expect(await invoke(without.url, 'images')).toEqual({ name: 'none' });
}, 120_000);
