import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { listJobs } from '../../../sagemaker/api/list-jobs.ts';
import { billingRate, capacityRequests } from '../../../sagemaker/jobs/capacity.ts';
import { describeJob } from '../../../sagemaker/jobs/describe.ts';
import {
  secondsUntil,
  withPhaseEnded,
  withPhaseStarted,
  withStatus,
} from '../../../sagemaker/model/job-record.ts';
import { groups, newRecord, plainRequest, spotRequest } from './requests.ts';

test('a change of status closes the open transition', () => {
  const started = withStatus(
    newRecord(),
    { status: 'InProgress', secondaryStatus: 'Starting', message: 'a' },
    10,
  );
  const starved = withStatus(
    started,
    { status: 'InProgress', secondaryStatus: 'Starting', message: 'b' },
    20,
  );
  const stopped = withStatus(starved, { status: 'Stopped', secondaryStatus: 'Stopped', message: 'c' }, 30);
  expect(stopped.transitions).toEqual([
    { status: 'Starting', startedAt: 10, endedAt: 30, message: 'b' },
    { status: 'Stopped', startedAt: 30, endedAt: 30, message: 'c' },
  ]);
  expect(stopped.modifiedAt).toBe(30);
});

test('only time on capacity counts', () => {
  const first = withPhaseEnded(withPhaseStarted(newRecord(), 0.5, 1_000), 21_000);
  expect(first).toMatchObject({ trainingSeconds: 20, billableSeconds: 10, trainingStartedAt: 1_000 });
  const second = withPhaseStarted(first, 0.25, 100_000);
  expect(second.trainingStartedAt).toBe(1_000);
  expect(secondsUntil(second, 140_000)).toEqual({ trainingSeconds: 60, billableSeconds: 20 });
  expect(withPhaseEnded(withPhaseEnded(second, 140_000), 999_000).trainingSeconds).toBe(60);
});

test('Describe leaves out what has not happened', () => {
  const waiting = describeJob(newRecord(), 2_000_000);
  expect(waiting).toMatchObject({
    ModelArtifacts: { S3ModelArtifacts: '' },
    CreationTime: 1_000,
    SecondaryStatusTransitions: [],
  });
  for (const absent of [
    'TrainingStartTime',
    'TrainingEndTime',
    'TrainingTimeInSeconds',
    'BillableTimeInSeconds',
    'FailureReason',
    'Tags',
  ]) {
    expect(waiting).not.toHaveProperty(absent);
  }
});

test('Describe counts whole seconds and bills at the end', () => {
  const running = withPhaseStarted(newRecord(), 0.3, 1_000);
  expect(describeJob(running, 3_100)).toMatchObject({ TrainingTimeInSeconds: 3 });
  expect(describeJob(running, 3_100)).not.toHaveProperty('BillableTimeInSeconds');
  const ended = withStatus(
    withPhaseEnded(running, 11_000),
    { status: 'Completed', secondaryStatus: 'Completed' },
    11_000,
  );
  expect(describeJob(ended, 99_000)).toMatchObject({
    TrainingTimeInSeconds: 10,
    BillableTimeInSeconds: 3,
  });
});

test('capacity is requested by EC2 names', () => {
  const request = spotRequest({ ResourceConfig: groups(1, 3) });
  expect(capacityRequests('a-job', request, ['use1-az1'])).toEqual([
    {
      owner: 'a-job',
      groups: [
        { instanceType: 'g5.xlarge', count: 1 },
        { instanceType: 'c5.xlarge', count: 3 },
      ],
      zoneIds: ['use1-az1'],
      purchaseOption: 'spot',
      request,
    },
  ]);
  const discount = (type: string): number => (type === 'g5.xlarge' ? 0.2 : 0.6);
  expect(billingRate(request, 'use1-az1', discount)).toBeCloseTo(0.5);
  expect(billingRate(plainRequest(), 'use1-az1', discount)).toBe(1);
});

const named = (name: string, createdAt: number, status: 'InProgress' | 'Failed' = 'InProgress') =>
  newRecord({ name, createdAt, modifiedAt: createdAt, status });

test('lists by creation unless asked otherwise, and filters', () => {
  const all = [named('b', 2_000), named('a', 3_000, 'Failed'), named('ab', 1_000)];
  const names = (input: object) => listJobs(all, input)?.records.map(({ name }) => name);
  expect(names({})).toEqual(['ab', 'b', 'a']);
  expect(names({ SortOrder: 'Descending' })).toEqual(['a', 'b', 'ab']);
  expect(names({ SortBy: 'Name' })).toEqual(['a', 'ab', 'b']);
  expect(names({ StatusEquals: 'Failed' })).toEqual(['a']);
  expect(names({ NameContains: 'b', CreationTimeAfter: 1 })).toEqual(['b']);
  expect(names({ LastModifiedTimeBefore: 2 })).toEqual(['ab']);
  expect(names({ WarmPoolStatusEquals: 'Available' })).toEqual([]);
  expect(listJobs(all, { NextToken: 'made-up' })).toBeUndefined();
});

test('pages hold every job once', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(fc.string({ minLength: 1, maxLength: 4 }), fc.nat(5)), {
        selector: ([name]) => name,
        maxLength: 30,
      }),
      fc.integer({ min: 1, max: 7 }),
      fc.constantFrom('Ascending' as const, 'Descending' as const),
      (rows, MaxResults, SortOrder) => {
        const all = rows.map(([name, at]) => named(name, at));
        const seen: string[] = [];
        let NextToken: string | undefined;
        do {
          const page = listJobs(all, {
            MaxResults,
            SortOrder,
            ...(NextToken === undefined ? {} : { NextToken }),
          });
          seen.push(...(page?.records.map(({ name }) => name) ?? []));
          NextToken = page?.nextToken;
        } while (NextToken !== undefined);
        expect(seen.toSorted()).toEqual(all.map(({ name }) => name).toSorted());
      },
    ),
  );
});
