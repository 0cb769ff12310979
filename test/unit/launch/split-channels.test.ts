/** The channels of a job whose samples are split, or whose shards have an index. */
import { describe, expect, it } from 'vitest';
import type { CreateTrainingJobRequest } from '../../../functions/launch/job/request.ts';
import { buildTrainingJob, type TrainingJobInput } from '../../../functions/launch/sagemaker/training-job.ts';
import { generationAt } from '../../support/builders/generations.ts';
import {
  declaration,
  launch,
  problemsOf as problems,
  requestOf as request,
} from '../../support/builders/launch.ts';

const channel = (made: CreateTrainingJobRequest, name: string) =>
  made.InputDataConfig.find(({ ChannelName }) => ChannelName === name)?.DataSource.S3DataSource;

describe('the channels of split samples', () => {
  const at = (run: number, split: 'train' | 'validation') => ({
    ...generationAt(`digits/dataset/digits-00000${run}/shards/${split}/`, [`${run}.tar`]),
    split,
  });
  const made = (generations: TrainingJobInput['generations'], training: Record<string, unknown> = {}) =>
    launch({
      declaration: declaration({ training, packing: { split: { train: 0.9, validation: 0.1 } } }),
      generations,
    });

  it('are a channel for each split', () => {
    const { InputDataConfig } = request(made([at(1, 'train'), at(1, 'validation')]));
    const shown = InputDataConfig.map(({ ChannelName, DataSource }) => [
      ChannelName,
      DataSource.S3DataSource?.S3Uri,
    ]);
    expect(shown.slice(0, 2)).toEqual([
      ['train', 's3://tw-data/digits/dataset/digits-000001/shards/train/'],
      ['validation', 's3://tw-data/digits/dataset/digits-000001/shards/validation/'],
    ]);
  });

  it('are a manifest for each split of several generations', () => {
    const job = buildTrainingJob(made([at(1, 'train'), at(1, 'validation'), at(2, 'train')]));
    if (job.kind !== 'request') throw new Error('no request');
    expect(job.objects.map(({ text }) => JSON.parse(text) as unknown)).toEqual([
      [
        { prefix: 's3://tw-data/digits/dataset/' },
        'digits-000001/shards/train/1.tar',
        'digits-000002/shards/train/2.tar',
      ],
    ]);
    expect(channel(job.request, 'validation')).toMatchObject({
      S3DataType: 'S3Prefix',
      S3Uri: 's3://tw-data/digits/dataset/digits-000001/shards/validation/',
    });
  });

  it('are refused without samples that train', () => {
    expect(problems(made([at(1, 'validation')]))).toEqual(['generations']);
    const wanted = { arguments: ['--test', '${channel:validation}'] };
    expect(problems(made([at(1, 'train')], wanted))).toEqual(['training.arguments']);
  });
});

it('a channel lists indexes if each generation has one', () => {
  const indexed = [1, 2].map((run) => ({
    ...generationAt(`digits/dataset/digits-00000${run}/shards/`, ['0.mds']),
    indexes: ['index.json'],
  }));
  const older = generationAt('digits/dataset/digits-000003/shards/', ['0.mds']);
  const listed = (generations: typeof indexed | (typeof older)[]) => {
    const job = buildTrainingJob(launch({ runId: 'digits-000003', generations }));
    return job.kind === 'request' && job.objects[0]?.text.match(/digits-\d+\/shards\/index\.json/g);
  };
  expect(listed(indexed)).toEqual(['digits-000001/shards/index.json', 'digits-000002/shards/index.json']);
  expect(listed([...indexed, older])).toBeNull();
});
