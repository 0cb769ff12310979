/** What becomes of data that changes or is faulty: rules that do not fit together are refused with the remedy. */
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { readDeclaration, readStored } from '../schema/declaration.ts';
import { packingSchema } from '../schema/packing.ts';
import { heldForClasses } from '../schema/packing-parts.ts';
import { pinned } from '../schema/pipeline.ts';
import { upgradedText } from '../schema/tuning.ts';

const SHORT = 'name: digits\ntraining: { strategy: ddp }\ncompute: { instanceTypes: [g5.xlarge] }\n';

function problemsOf(more: string): string[] {
  const declaration = readDeclaration('digits', `${SHORT}${more}`);
  return declaration.valid ? [] : declaration.problems.map(({ path, message }) => `${path}: ${message}`);
}

describe('dataset.onDelete: retract', () => {
  it('may be declared', () => {
    expect(problemsOf('dataset: { onDelete: retract }')).toEqual([]);
  });

  it('is refused where the service deletes what it packed', () => {
    expect(problemsOf('dataset: { onDelete: retract }\npacking: { whenDone: delete }')).toEqual([
      expect.stringMatching(/^dataset.onDelete: .*write whenDone: keep, or onDelete: keep/),
    ]);
  });

  it('is refused where all versions are kept', () => {
    expect(problemsOf('dataset: { onDelete: retract, onChange: keep }')).toEqual([
      expect.stringMatching(/^dataset.onDelete: .*write onChange: replace, or onDelete: keep/),
    ]);
  });
});

describe('packing.reject', () => {
  it('names reasons', () => {
    expect(problemsOf('packing: { reject: [notText, notJson] }')).toEqual([]);
    expect(problemsOf('packing: { reject: [broken] }')).toEqual([
      expect.stringMatching(/^packing.reject\[0\]: .*notText, notJson/),
    ]);
  });

  it('is refused where files are not decoded', () => {
    expect(problemsOf('packing: { format: records, reject: [notText] }')).toEqual([
      expect.stringMatching(/^packing.reject: .*leave it out/),
    ]);
  });
});

describe('packing.reject of classes', () => {
  it('is refused, and packing.hold is named', () => {
    const problems = problemsOf('packing: { reject: [notJson, conflictingLabels, singleSampleClasses] }');
    expect(problems).toEqual([
      expect.stringMatching(/^packing.reject.1.*: .*hold: { conflictingLabels: 0 % }/),
      expect.stringMatching(/^packing.reject.2.*: .*hold: { singleSampleClasses: 0 % }/),
    ]);
  });

  it('is shown as a person writes it now', () => {
    const text = (packing: string): string => `${SHORT}packing: ${packing}\n`;
    const shown = upgradedText(text('{ reject: [ notJson, conflictingLabels ], shuffle: false } # mine'));
    expect(shown).toContain(
      'packing: { reject: [ notJson ], shuffle: false, hold: { conflictingLabels: 0 % } } # mine\n',
    );
    expect(readDeclaration('digits', shown).valid).toBe(true);
    const only = upgradedText(text('{ reject: [singleSampleClasses], hold: { singleSampleClasses: 5 % } }'));
    expect(only).toContain('packing: { hold: { singleSampleClasses: 5 % } }\n');
  });

  it('holds the run where 0.1.0 stored it', () => {
    const reject = ['notJson', 'conflictingLabels', 'singleSampleClasses'];
    const stored = { name: 'p', packing: { label: 'none', reject, hold: { singleSampleClasses: '5 %' } } };
    const hold = { conflictingLabels: '0 %', singleSampleClasses: '5 %' };
    expect(heldForClasses(stored)).toEqual({
      name: 'p',
      packing: { label: 'none', reject: ['notJson'], hold },
    });
    const other = { packing: { reject: ['notText'] } };
    expect(heldForClasses(other)).toBe(other);
    const text = readStored('digits', `${SHORT}packing: { reject: [notJson, conflictingLabels] }`);
    expect(text).toMatchObject({ valid: true, pipeline: { packing: { reject: ['notJson'] } } });
    const only = { packing: { reject: ['conflictingLabels'] } };
    const { packing } = pinned(z.object({ packing: packingSchema })).parse(only);
    expect([packing.reject, packing.hold]).toEqual([undefined, { conflictingLabels: '0 %' }]);
  });
});

describe('packing.hold', () => {
  it('takes a limit of leakage only with a split', () => {
    expect(problemsOf('packing: { hold: { leakage: 0 % } }')).toEqual([
      expect.stringMatching(/^packing.hold.leakage: .*needs packing.split/),
    ]);
    const split = 'split: { train: 0.9, test: 0.1 }';
    expect(problemsOf(`packing: { hold: { leakage: 0 %, conflictingLabels: 1 % }, ${split} }`)).toEqual([]);
  });
});
