/** Utilisation on the page's axis of time, and the marks of the doctor. */
import { expect, it } from 'vitest';
import { columnsOfUtilisation, meanOf, type UtilisationView } from '../../../page/model/curve.ts';
import { verdictMarks } from '../../../page/model/life-line.ts';
import { AT, secondsAfter } from '../../support/builders/records.ts';

type Point = UtilisationView['points'][number];
const START = Date.parse(AT) / 1_000;
const point = (seconds: number, attempt: number, over: Partial<Point> = {}): Point => ({
  at: secondsAfter(seconds),
  attempt,
  hosts: 1,
  cpuBusy: 0.5,
  waiting: 0.25,
  ...over,
});

it('draws no line between two attempts', () => {
  const [x, cpu, gpu] = columnsOfUtilisation([point(0, 1), point(10, 1, { gpuBusy: 1 }), point(30, 2)]);
  expect(x.map((time) => time - START)).toEqual([0, 10, 20, 30]);
  expect(cpu).toEqual([0.5, 0.5, null, 0.5]);
  expect(gpu).toEqual([null, 1, null, null]);
});

it('means leave out hosts without a GPU', () => {
  const points = [point(0, 1), point(10, 1, { gpuBusy: 0.8, cpuBusy: 1 })];
  expect([meanOf(points, 'cpuBusy'), meanOf(points, 'gpuBusy')]).toEqual([0.75, 0.8]);
  expect(meanOf([point(0, 1)], 'gpuBusy')).toBeUndefined();
});

it('an attempt has one mark of its verdicts', () => {
  const verdict = { attempt: 1, at: AT, cause: 'too-few-workers', remedy: 'load with 4 workers' };
  expect(verdictMarks([verdict, { attempt: 1, at: AT, cause: 'download' }])).toEqual([
    {
      kind: 'doctor',
      at: Date.parse(AT),
      text: 'doctor on attempt 1: too-few-workers, load with 4 workers; download',
    },
  ]);
});
