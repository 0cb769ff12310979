/** How fast the hosts of a limited job made their steps. */
import { readDocument, valueOf } from '@tidewheel/contract/document.ts';
import { type StepBlocks, stepBlocks } from '@tidewheel/contract/evidence.ts';
import { namePartsOf } from '@tidewheel/contract/files.ts';
import { describe, expect, it } from 'vitest';
import { stepSpeedOf } from '../probe/step-blocks.ts';

const host = (blockSeconds: number[], samplesPerStep: number | null = 32): StepBlocks => ({
  basis: 'hooks',
  clock: 'machine',
  steps: 200,
  samplesPerStep,
  blockSeconds,
  blockSteps: blockSeconds.map(() => 16),
});

describe('the file of a host', () => {
  it('is known by its name', () => {
    const folder = 'digits/runs/digits-probe-000001/checkpoints/tidewheel-evidence/';
    expect(namePartsOf('stepBlocks', `${folder}2-algo-1-steps.json`)?.attempt).toBe(2);
    expect(namePartsOf('stepBlocks', `${folder}2-algo-1-phases.json`)).toBeUndefined();
    expect(namePartsOf('stepBlocks', `${folder}2-algo-1.jsonl`)).toBeUndefined();
  });

  it.each(['', '{', '{"steps":1}', JSON.stringify({ ...host([1, 2]), blockSteps: [1] })])(
    'is passed over where it holds no blocks: %j',
    (text) => {
      expect(valueOf(readDocument(stepBlocks, text))).toBeUndefined();
    },
  );

  it('is read as the agent writes it', () => {
    expect(valueOf(readDocument(stepBlocks, JSON.stringify(host([1, 1.1]))))).toEqual(host([1, 1.1]));
  });
});

describe('the speed', () => {
  it("has Student's interval over the blocks", () => {
    const { stepSeconds } = stepSpeedOf([host([1, 2, 3])]) ?? {};
    // The spread is 1, so the half width is 4.303 / sqrt(3).
    expect(stepSeconds?.mean).toBeCloseTo(2);
    expect((stepSeconds?.high ?? 0) - 2).toBeCloseTo(2.4844, 3);
  });

  it('weighs blocks by their steps', () => {
    const uneven = { ...host([1, 1, 4]), blockSteps: [8, 8, 1] };
    expect(stepSpeedOf([uneven])?.stepSeconds.mean).toBeCloseTo(20 / 17);
  });

  it('adds the samples of hosts, by the slowest step', () => {
    const speed = stepSpeedOf([host([1, 1, 1]), host([2, 2, 2])]);
    expect(speed?.stepSeconds.mean).toBe(2);
    expect(speed?.samplesPerSecond?.mean).toBeCloseTo(32 + 16);
  });

  it('has no samples where one host tells none', () => {
    expect(stepSpeedOf([host([1, 1, 1]), host([1, 1, 1], null)])?.samplesPerSecond).toBeUndefined();
  });

  it('is unknown with two blocks of a host', () => {
    expect(stepSpeedOf([host([1, 1]), host([1, 1, 1])])).toBeUndefined();
    expect(stepSpeedOf([])).toBeUndefined();
  });
});
