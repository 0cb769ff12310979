import { expect, it } from 'vitest';
import { startUpOf } from '../../../functions/launch/job/job-state.ts';
import type { TrainingJobDescription } from '../../../functions/launch/job/training-service.ts';

type Change = readonly [second: number, status: string, message?: string];

const jobOf = (...changes: readonly Change[]): TrainingJobDescription => ({
  TrainingJobName: 'digits-000001-1',
  TrainingJobStatus: 'InProgress',
  SecondaryStatus: changes.at(-1)?.[1] ?? 'Starting',
  CreationTime: new Date(0),
  SecondaryStatusTransitions: changes.map(([second, Status, StatusMessage]) => ({
    Status,
    StartTime: new Date(second * 1_000),
    StatusMessage,
  })),
});

it('tells hosts, data and image apart', () => {
  const job = jobOf(
    [0, 'Starting', 'Launching requested ML instances'],
    [90, 'Downloading', 'Downloading input data'],
    [150, 'Downloading', 'Downloading the training image'],
    [400, 'Training'],
  );
  expect(startUpOf(job)).toEqual({ hosts: 90, download: 60, image: 250 });
});

it('counts the last start in place alone', () => {
  const job = jobOf(
    [0, 'Starting'],
    [50, 'Downloading'],
    [80, 'Training'],
    [200, 'Interrupted'],
    [300, 'Downloading'],
    [310, 'Training'],
    [500, 'Uploading'],
  );
  expect(startUpOf(job)).toEqual({ hosts: 0, download: 10, image: 0 });
});

it('is unknown before the script starts', () => {
  expect(startUpOf(jobOf([0, 'Starting'], [9, 'Downloading']))).toBeUndefined();
});
