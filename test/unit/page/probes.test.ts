/** Probes beside each other: how they are named, grouped and ranked. */

import { rankedText } from '@tidewheel/doctor/probe.ts';
import { expect, it } from 'vitest';
import { measuredByText, type Probe, probeGroups } from '../../../page/model/probe-groups.ts';
import { declarationOf } from '../../support/builders/records.ts';

const measured = (mean: number) => ({ mean, low: mean * 0.99, high: mean * 1.01 });
const probe = (number: number, lr: number, over: Partial<Probe> & { readonly pin?: string } = {}): Probe => ({
  runId: `digits-probe-00000${number}`,
  number,
  status: 'succeeded',
  createdAt: '2026-11-26T06:00:00.000Z',
  declaration: declarationOf('digits', {
    training: { strategy: 'ddp', hyperparameters: { lr } },
    limits: { steps: 60, budgetUsd: number },
    dataset: { pin: over.pin ?? 'digits-000001' },
  }),
  usdPerHour: 3.6,
  costUsd: 0.01,
  speed: {
    basis: 'hooks',
    clock: 'machine',
    hosts: 1,
    steps: 60,
    stepSeconds: measured(lr),
    samplesPerSecond: measured(1 / lr),
  },
  ...over,
});

it('are named by what differs, and ranked', () => {
  const [group, ...more] = probeGroups([probe(2, 2), probe(1, 1)]);
  expect(more).toEqual([]);
  expect(group?.probes.map(({ settings, usd }) => [settings, Math.round(usd ?? 0)])).toEqual([
    ['lr=2', 2_000],
    ['lr=1', 1_000],
  ]);
  expect(group?.verdict && rankedText(group.verdict.cheapest, 'dearer')).toBe(
    'lr=1; the next one is 100 % dearer',
  );
});

it('of other data are not compared', () => {
  const groups = probeGroups([probe(2, 2, { pin: 'digits-000002' }), probe(1, 1)]);
  expect(groups.map(({ pin, verdict }) => [pin, verdict])).toEqual([
    ['digits-000002', undefined],
    ['digits-000001', undefined],
  ]);
});

it('that were not measured stay in the table', () => {
  const failed = probe(3, 3, { status: 'failed', failure: 'exit code 1', speed: undefined });
  const [group] = probeGroups([failed, probe(2, 2), probe(1, 1.99)]);
  expect(group?.probes[0]).toEqual({ probe: failed, settings: 'lr=3' });
  expect(group?.verdict && rankedText(group.verdict.fastest, 'slower')).toBe(
    'lr=1.99, which these steps do not tell from lr=2',
  );
});

it('tell by whose clock their seconds are', () => {
  const byHosts = (number: number, lr: number) => {
    const one = probe(number, lr);
    return { ...one, speed: one.speed && { ...one.speed, clock: 'host' as const } };
  };
  const texts = [
    [probe(1, 1), probe(2, 2)],
    [byHosts(1, 1), byHosts(2, 2)],
    [probe(1, 1), byHosts(2, 2)],
    [probe(1, 1, { speed: undefined })],
  ].map((probes) => probeGroups(probes).map(measuredByText));
  expect(texts).toEqual([
    ['Seconds are by the clock of the machine.'],
    ['Seconds are by the clocks of the hosts, which count the CPU time that each got.'],
    ['Measured by different clocks, so not to be compared.'],
    [undefined],
  ]);
});
