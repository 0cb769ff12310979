/** A file of evidence, and the verdicts of it as a terminal shows them. */
import { describe, expect, it } from 'vitest';
import { evidenceOf } from '../../../test/support/builders/evidence.ts';
import { diagnose } from '../rules/diagnose.ts';
import { formatVerdicts } from '../rules/format-verdicts.ts';
import { readEvidence } from '../rules/read-evidence.ts';

const waiting = { shares: { wait: 0.5, compute: 0.5 }, workerBusy: 1, gpuBusy: 0.45, workers: 2 };
const evidence = evidenceOf([{ ...waiting, cpu: { workers: 2, all: 2.5 } }]);
const { instance, ...measured } = evidence;
const file = { ...measured, instanceType: instance.facts.type, alternatives: ['g5.4xlarge'] };

describe('a file of evidence', () => {
  it('gives the evidence with facts and prices', () => {
    const read = readEvidence(structuredClone(file));
    expect(read).toMatchObject({
      kind: 'evidence',
      evidence: { instance, alternatives: [{ facts: { type: 'g5.4xlarge' } }] },
    });
  });

  it('reports every problem with its field', () => {
    const bad = { ...file, steps: -1, inputMode: 'Pipe' };
    expect(readEvidence(bad)).toEqual({
      kind: 'problems',
      problems: ['inputMode: write File or FastFile', 'steps: write 0 or more'],
    });
  });

  it('reports types that the catalog lacks', () => {
    expect(readEvidence({ ...file, instanceType: 'x0.huge' })).toMatchObject({
      kind: 'problems',
      problems: [expect.stringContaining('x0.huge')],
    });
  });
});

describe('verdicts in a terminal', () => {
  const text = formatVerdicts(evidence, diagnose(evidence));

  it('show where the time goes', () => {
    expect(text).toContain(`  wait     ${'▅'.repeat(12)}`);
  });

  it('name cause, change, gain and next limit', () => {
    expect(text).toContain('1. too-few-workers: waitShare 0.500');
    expect(text).toContain('change (script): DataLoader(…, num_workers=5)');
    expect(text).toContain('saves 1000 (850 to 1150) s');
    expect(text).toContain('then the limit is the accelerator');
  });

  it('say when there are too few points', () => {
    expect(formatVerdicts(evidence, [])).toContain('too few points');
  });
});
