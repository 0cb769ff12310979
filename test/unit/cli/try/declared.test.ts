import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readTraining } from '../../../../cli/try/declared.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidewheel-declared-'));
});
afterEach(() => rm(folder, { recursive: true }));

const nothing = { declaration: undefined, entryPoint: undefined, arguments: undefined };
const read = (typed: Partial<Parameters<typeof readTraining>[0]> = {}) =>
  readTraining({ folder, ...nothing, environment: {}, channels: [], ...typed });

const DECLARED = `name: cats
x-local: { source: code, data: images }
training: { strategy: single, entryPoint: fit.py, arguments: [--fast] }
compute: { instanceTypes: [g4dn.xlarge] }
`;

it.each(['tidewheel.yaml', 'pipeline.yaml', 'pipeline.yml'])('reads %s of the folder', async (name) => {
  await mkdir(join(folder, 'code'));
  await writeFile(join(folder, name), DECLARED);
  const { source, training, instanceType } = await read();
  expect({ source, instanceType }).toEqual({ source: join(folder, 'code'), instanceType: 'g4dn.xlarge' });
  expect(training).toMatchObject({ entryPoint: 'fit.py', arguments: ['--fast'] });
});

it('prefers what was typed', async () => {
  await writeFile(join(folder, 'tidewheel.yaml'), DECLARED);
  const { training } = await read({ entryPoint: 'other.py' });
  expect(training).toMatchObject({ entryPoint: 'other.py', arguments: ['--fast'] });
});

it('takes the folder itself without a declaration', async () => {
  expect(await read()).toMatchObject({ source: folder, instanceType: undefined });
});

it('names the problem of a declaration', async () => {
  await writeFile(join(folder, 'tidewheel.yaml'), 'training: {}\n');
  await expect(read()).rejects.toThrow('tidewheel.yaml: name: name the pipeline');
});
