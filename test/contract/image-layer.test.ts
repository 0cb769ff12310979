/** The Lambda layer with sharp, as osls asks for it; what it gets from the registry is named by package-lock.json. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';

const run = promisify(execFile);
const layerSchema = z.object({ path: z.string(), compatibleArchitectures: z.array(z.string()) });
interface ScoreAnswer {
  resolveVariable(name: string): Promise<string>;
}
const layer: {
  layers(requested: ScoreAnswer): Promise<unknown>;
  attached(requested: ScoreAnswer): Promise<unknown>;
  lockOf(name: string, from: string, packages: unknown): ReadonlyMap<string, unknown>;
} = createRequire(import.meta.url)('../../serverless/image-layer.cjs');
const requested = (images: string) => ({ resolveVariable: () => Promise.resolve(images) });

afterEach(() => vi.unstubAllEnvs());

describe('the layer with sharp', () => {
  it('exists only when it is requested', async () => {
    expect(await layer.layers(requested('no'))).toEqual({});
    expect(await layer.attached(requested('no'))).toEqual([]);
    expect(await layer.attached(requested('yes'))).toEqual([{ Ref: 'SharpLambdaLayer' }]);
    await expect(layer.layers(requested('maybe'))).rejects.toThrow('write yes or no');
  });

  it('holds all that sharp needs', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL', 'http://127.0.0.1:1');
    const { sharp } = z.object({ sharp: layerSchema }).parse(await layer.layers(requested('yes')));
    expect(sharp.compatibleArchitectures).toEqual(['arm64']);
    const script = `require('sharp')({ create: { width: 9, height: 9, channels: 3, background: '#fff' } }).webp().toBuffer().then((b) => console.log(b.length))`;
    const { stdout } = await run(process.execPath, ['-e', script], {
      cwd: tmpdir(),
      env: { NODE_PATH: join(process.cwd(), sharp.path, 'nodejs/node_modules') },
    });
    expect(Number(stdout)).toBeGreaterThan(20);
  });

  it('is built from the lock for AWS', () => {
    const lock: unknown = JSON.parse(readFileSync('package-lock.json', 'utf8'));
    const { packages } = z.object({ packages: z.record(z.string(), z.unknown()) }).parse(lock);
    const found = z
      .map(z.string(), z.object({ integrity: z.string() }))
      .parse(layer.lockOf('sharp', '', packages));
    for (const name of [
      'sharp',
      '@img/sharp-linux-arm64',
      '@img/sharp-libvips-linux-arm64',
      'detect-libc',
      'semver',
    ])
      expect(found.get(`node_modules/${name}`)?.integrity).toMatch(/^sha512-/);
    expect(existsSync('node_modules/@img')).toBe(true);
  });
});
