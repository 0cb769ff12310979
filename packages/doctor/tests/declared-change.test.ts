/** Remedies that a declaration takes, and what its text becomes. */
import { readDeclaration } from '@tidewheel/declaration/read.ts';
import { describe, expect, it } from 'vitest';
import { declaredFields, editDeclaration } from '../rules/declared-change.ts';
import type { Change } from '../rules/verdict.ts';

const TEXT = `# ours
name: digits
training:
  strategy: ddp
  hyperparameters: { num_workers: 2, epochs: 3 } # as in the paper
  environment: { MODE: fast }
compute: { instanceTypes: [ c5.4xlarge ] }
`;

function changed(change: Change, text = TEXT): string | undefined {
  const read = readDeclaration('digits', text);
  if (!read.valid) throw new Error(JSON.stringify(read.problems));
  const fields = declaredFields(change, read.pipeline);
  return fields && editDeclaration(text, fields);
}

describe('a remedy in the declaration', () => {
  it('sets threads beside other variables', () => {
    const text = changed({ kind: 'threads', threads: 4 });
    expect(text).toBe(TEXT.replace('{ MODE: fast }', '{ MODE: fast, OMP_NUM_THREADS: "4" }'));
    expect(readDeclaration('digits', text ?? '')).toMatchObject({
      valid: true,
      pipeline: { training: { environment: { MODE: 'fast', OMP_NUM_THREADS: '4' } } },
    });
  });

  it.each(['num_workers', 'dataloader-num-workers', 'loader_workers', 'workers'])(
    'sets loader workers where %s names them',
    (name) => {
      const text = TEXT.replace('num_workers', name);
      expect(changed({ kind: 'workers', workers: 7 }, text)).toBe(text.replace(`${name}: 2`, `${name}: 7`));
    },
  );

  it.each([
    ['no hyperparameter', TEXT.replace('num_workers', 'batch_size')],
    ['two of them', TEXT.replace('epochs', 'workers')],
  ])('leaves loader workers alone where %s names them', (_, text) => {
    expect(changed({ kind: 'workers', workers: 7 }, text)).toBeUndefined();
  });
});
