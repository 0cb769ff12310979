import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { readTraining } from '../../../../cli/try/declared.ts';
import { proposedFor } from '../../../../cli/verbs/init.ts';
import { folderOfTest } from '../../../support/folders.ts';
import { SAGEMAKER_PROJECTS, writeFiles } from '../../../support/sagemaker-projects.ts';

let folder: string;
beforeEach(() => {
  folder = folderOfTest('declared');
});

const nothing = { declaration: undefined, entryPoint: undefined, arguments: undefined };
const read = (typed: Partial<Parameters<typeof readTraining>[0]> = {}) =>
  readTraining({ folder, ...nothing, environment: {}, channels: {}, propose: proposedFor, ...typed });

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

it('finds dependencies from the declaration', async () => {
  await writeFile(
    join(folder, 'tidewheel.yaml'),
    DECLARED.replace('source: code,', 'source: code, dependencies: [../common],'),
  );
  expect((await read()).dependencies).toEqual([join(folder, '../common')]);
});

it('prefers what was typed', async () => {
  await writeFile(join(folder, 'tidewheel.yaml'), DECLARED);
  const { training } = await read({ entryPoint: 'other.py' });
  expect(training).toMatchObject({ entryPoint: 'other.py', arguments: ['--fast'] });
});

it('starts what init would declare without a declaration', async () => {
  await mkdir(join(folder, 'images'));
  await writeFile(join(folder, 'images/1.png'), '');
  const script =
    'from torch.nn.parallel import DistributedDataParallel\np.add_argument("--data")\np.add_argument("--out-dir")';
  await writeFile(join(folder, 'fit.py'), `${script}\nmodel.fit(optimizer)`);
  expect(await read()).toMatchObject({
    isProposed: true,
    source: folder,
    channels: { data: join(folder, 'images') },
    training: {
      strategy: 'ddp',
      entryPoint: 'fit.py',
      arguments: ['--data', '${channel:data}', '--out-dir', '${model}'],
    },
  });
  await writeFile(join(folder, 'fit-2.py'), 'model.fit(optimizer)');
  await expect(read()).rejects.toThrow(
    'several files start a training (fit-2.py, fit.py): name one with --entry',
  );
  expect((await read({ entryPoint: 'fit-2.py' })).training.entryPoint).toBe('fit-2.py');
  await expect(read({ entryPoint: 'start.sh' })).rejects.toThrow('name a .py file inside the source');
});

it('names the problem of a declaration', async () => {
  await writeFile(join(folder, 'tidewheel.yaml'), 'training: {}\n');
  await expect(read()).rejects.toThrow('tidewheel.yaml: name: is missing, name the pipeline');
});

it('takes every channel, declared or not', async () => {
  await writeFile(
    join(folder, 'tidewheel.yaml'),
    DECLARED.replace('[--fast] }', "['${channel:data}'], channels: { data: { s3: incoming/ } } }"),
  );
  const channels = { data: '/a', test: '/b', train: '/c' };
  const read1 = await read({ channels });
  expect(read1.channels).toEqual(channels);
  expect(Object.keys(read1.training.channels ?? {})).toEqual(['data', 'test']);
  expect((await read({ channels: { other: '/a' } })).training.channels).toHaveProperty('data');
});

it('gives dropped files to a channel named train', async () => {
  await mkdir(join(folder, 'images/test'), { recursive: true });
  const channels = 'channels: { train: { s3: incoming/ }, test: { s3: incoming/test/ } }';
  await writeFile(join(folder, 'tidewheel.yaml'), DECLARED.replace('[--fast] }', `[--fast], ${channels} }`));
  const data = join(folder, 'images');
  expect((await read()).channels).toEqual({ train: data, test: join(data, 'test'), shards_train: data });
});

it('starts what a launch script starts', async () => {
  await writeFiles(folder, SAGEMAKER_PROJECTS.segmentation);
  const { source, training, channels } = await read();
  expect({ source, channels }).toEqual({
    source: join(folder, 'code'),
    channels: { training: join(folder, 'data') },
  });
  expect(training).toMatchObject({ strategy: 'ddp', entryPoint: 'train.py' });
});

it('names the remedy for a reserved channel or variable', async () => {
  await writeFile(join(folder, 'train.py'), '');
  const typed = { channels: { code: '/a' }, environment: { SM_CHANNEL_TEST: '/b' } };
  await expect(read(typed)).rejects.toMatchObject({
    problems: [
      expect.stringMatching(/^training\.environment\.SM_CHANNEL_TEST: .*--channel NAME=PATH/),
      expect.stringMatching(/^training\.channels\.code: .*holds training.source/),
    ],
  });
});

it('gives local data to the channels that read it', async () => {
  await mkdir(join(folder, 'images/val'), { recursive: true });
  const channels =
    '{ data: { s3: incoming/ }, val: { s3: incoming/val/ }, gone: { s3: incoming/gone/ }, all: { s3: all/ } }';
  await writeFile(
    join(folder, 'tidewheel.yaml'),
    DECLARED.replace('[--fast] }', `[--fast], channels: ${channels} }`),
  );
  const images = join(folder, 'images');
  expect((await read()).channels).toEqual({ train: images, data: images, val: join(images, 'val') });
  expect((await read({ channels: { val: '/typed' } })).channels).toMatchObject({
    data: images,
    val: '/typed',
  });
  await rm(images, { recursive: true });
  expect((await read()).channels).toEqual({});
});

it('gives files that are not packed their channel', async () => {
  await mkdir(join(folder, 'images'));
  await writeFile(join(folder, 'tidewheel.yaml'), `${DECLARED}packing: none\n`);
  const { channels, training } = await read();
  expect(channels).toEqual({ training: join(folder, 'images') });
  expect(Object.keys(training.channels ?? {})).toEqual(['training']);
});
