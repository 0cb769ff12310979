/** `packing: none`: what it leaves out, and what the script gets instead of shards. */

import { problemText } from '@tidewheel/kit/errors.ts';
import { describe, expect, it } from 'vitest';
import { channelsOf } from '../pipeline.ts';
import { pipelineJsonSchema, readDeclaration, readStored } from '../schema/declaration.ts';

const REST = `
name: digits
training: { strategy: ddp }
compute: { instanceTypes: [g5.xlarge] }
`;
const read = (packing: string, rest = REST) => readDeclaration('digits', `${rest}\npacking: ${packing}\n`);
function problemsOf(packing: string, rest = REST): readonly string[] {
  const declaration = read(packing, rest);
  return declaration.valid ? [] : declaration.problems.map(problemText);
}
function pipelineOf(packing: string, rest = REST) {
  const declaration = read(packing, rest);
  if (!declaration.valid) throw new Error(declaration.problems.map(problemText).join('; '));
  return declaration.pipeline;
}

describe('packing: none', () => {
  it('is short for the format', () => {
    expect(pipelineOf('none')).toEqual(pipelineOf('{ format: none }'));
    expect(readStored('digits', `${REST}\npacking: none\n`).valid).toBe(true);
  });

  it('is known to editors', () => {
    expect(pipelineJsonSchema()).toMatchObject({
      properties: { packing: { anyOf: [{ const: 'none' }, { type: 'object' }] } },
    });
  });

  it('takes what holds for files as well', () => {
    const packing =
      '{ format: none, accept: [.csv], ignore: ["*.bak"], split: { train: 0.9, test: 0.1 }, hold: { rejected: 5 % }, whenDone: keep }';
    expect(problemsOf(packing)).toEqual([]);
  });

  it('refuses at once all that says how shards are written', () => {
    const rest = `
name: digits
training: { strategy: ddp, inputMode: FastFile }
compute: { instanceTypes: [g5.xlarge], regions: [{ name: us-west-2 }] }
dataset: { onChange: keep, onDelete: keep }
tuning: { packing: { seed: 3, waitHours: 4 }, dataset: { compactAfter: 5 } }
`;
    const packing =
      '{ format: none, label: none, shuffle: false, prepare: { image: {} }, whenDone: delete, hold: { leakage: 0 % } }';
    const all = problemsOf(packing, rest).join('\n');
    for (const path of [
      'packing.label',
      'packing.shuffle',
      'packing.prepare',
      'packing.hold.leakage',
      'packing.whenDone: delete would delete',
      'tuning.packing.seed',
      'tuning.packing.waitHours',
      'tuning.dataset.compactAfter',
      'dataset.onChange: keep cannot be had',
      'dataset.onDelete: keep cannot be had',
      'training.inputMode: FastFile takes no list',
      'compute.regions: packing: none leaves',
    ])
      expect(all).toContain(path);
  });

  it.each([
    [
      'a stream of files',
      'none',
      'channels: { data: { s3: incoming/, inputMode: FastFile } }',
      'inputMode: FastFile takes no list',
    ],
    [
      'a channel beside a split',
      '{ format: none, split: { train: 0.5, test: 0.5 } }',
      'channels: { data: { s3: incoming/ } }',
      'packing.split gives each of its parts a channel',
    ],
    [
      'a channel of shards that are not there',
      'none',
      "arguments: ['${channel:train}']",
      '${channel:train} is named',
    ],
    [
      'a channel of files that are packed',
      '{}',
      "arguments: ['${channel:training}']",
      '${channel:training} is named',
    ],
  ])('refuses %s', (_, packing, training, words) => {
    const rest = REST.replace('strategy: ddp', `strategy: ddp, ${training}`);
    expect(problemsOf(packing, rest).join('\n')).toContain(words);
  });

  it('alone keeps copies', () => {
    const rest = `${REST}dataset: { keep: versions }`;
    expect(problemsOf('none', rest)).toEqual([]);
    expect(problemsOf('{}', rest).join()).toContain('dataset.keep: is for packing: none');
  });
});

describe('the channels of a script', () => {
  const channelsWith = (packing: string, training = '') =>
    channelsOf(pipelineOf(packing, REST.replace('strategy: ddp', `strategy: ddp${training}`)));
  const files = { s3: 'incoming/', inputMode: 'File' };

  it('are those declared where shards are packed', () => {
    expect(channelsWith('{}')).toEqual({});
    expect(Object.keys(channelsWith('{}', ', channels: { data: { s3: incoming/ } }'))).toEqual(['data']);
  });

  it.each([
    ['all files, as training', 'none', '', { training: files }],
    ['as a Pipe', 'none', ', inputMode: Pipe', { training: { ...files, inputMode: 'Pipe' } }],
    ['by the name declared', 'none', ', channels: { train: { s3: incoming/ } }', { train: files }],
    [
      'beside others',
      'none',
      ', channels: { weights: { s3: weights/ } }',
      { training: files, weights: { ...files, s3: 'weights/' } },
    ],
    [
      'named in full',
      'none',
      ', channels: { data: { s3: s3://b-b/digits/incoming/d/ } }',
      { data: { ...files, s3: 's3://b-b/digits/incoming/d/' } },
    ],
    [
      'those of another pipeline are not its own',
      'none',
      ', channels: { data: { s3: s3://b-b/letters/incoming/ } }',
      { training: files, data: { ...files, s3: 's3://b-b/letters/incoming/' } },
    ],
    [
      'a part each',
      '{ format: none, split: { train: 0.5, test: 0.5 } }',
      '',
      { train: { ...files, split: 'train' }, test: { ...files, split: 'test' } },
    ],
  ])('are %s', (_, packing, training, expected) => {
    expect(channelsWith(packing, training)).toEqual(expected);
  });

  it('can be named in arguments', () => {
    expect(
      problemsOf('none', REST.replace('strategy: ddp', "strategy: ddp, arguments: ['${channel:training}']")),
    ).toEqual([]);
  });
});
