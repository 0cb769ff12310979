/** What a declaration of 0.1.0 had elsewhere: refused where a person applies it, read where it is stored. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { changeDeclaration, type Declaration, readDeclaration, readStored } from '../schema/declaration.ts';
import { pinned, pipelineSchema } from '../schema/pipeline.ts';
import { placed, upgradedText, withPin, writtenPipeline, writtenSchema } from '../schema/tuning.ts';

const FOLDER = path.join(import.meta.dirname, '../../../test/support/releases/0.1.0');
/** Every field, as a person wrote it for 0.1.0, and as 0.1.0 pinned it. */
const TEXT = readFileSync(path.join(FOLDER, 'declaration.yaml'), 'utf8');
const PINNED: unknown = JSON.parse(readFileSync(path.join(FOLDER, 'pinned.json'), 'utf8'));
const SHORT = 'name: digits\ntraining: { strategy: ddp }\ncompute: { instanceTypes: [g5.xlarge] }\n';

const MOVED = [
  'settle.maximumWaitSeconds',
  'packing.seed',
  'packing.shardsMultipleOf',
  'packing.leastShardsPerWorker',
  'packing.waitHours',
  'packing.mayReject',
  'packing.remainder',
  'packing.prepare.image.mostMegapixels',
  'packing.prepare.image.expectedKilobytes',
  'packing.prepare.image.background',
  'packing.prepare.image.columns',
  'dataset.compactAfter',
  'training.instrument',
  'training.pinGpus',
  'training.distribution',
  'compute.spotWithHelpers',
  'compute.needs.kinds',
  'compute.needs.vcpus',
  'compute.needs.memoryGigabytes',
  'compute.needs.acceleratorsPerNode',
  'compute.needs.resumeOnOtherTopology',
  'compute.ec2.privateSubnets',
  'limits.valueOfTimeUsdPerHour',
  'limits.attempts',
  'retention.workDays',
  'retention.sourceDays',
];

const problemsOf = (declaration: Declaration) => (declaration.valid ? [] : declaration.problems);
const pipelineOf = (declaration: Declaration) => {
  if (!declaration.valid) throw new Error(JSON.stringify(declaration.problems));
  return declaration.pipeline;
};

describe('a declaration of 0.1.0 that is stored', () => {
  it('means what it meant', () => {
    expect(pipelineOf(readStored('digits', TEXT))).toEqual(PINNED);
  });

  it('means it where a run has pinned it', () => {
    expect(pinned(pipelineSchema).parse(PINNED)).toEqual(PINNED);
  });

  it('may be as short as it can be', () => {
    expect(readStored('digits', SHORT)).toEqual(readDeclaration('digits', SHORT));
  });

  it('keeps the end of a trial', () => {
    const text = `${SHORT}limits: { steps: 50 }\n`;
    expect(pipelineOf(readStored('digits', text)).limits.steps).toBe(50);
    expect(problemsOf(readDeclaration('digits', text))).toEqual([
      {
        path: 'limits.steps',
        message:
          'is 50, and belongs to a probe: take it out, and give tidewheel probe its --steps (docs/probing.md)',
      },
    ]);
  });

  it('may repeat its fields by aliases', () => {
    const text = `x-l: &l { attempts: 7, budgetUsd: 5 }\n${SHORT}limits: { <<: *l, deadlineHours: 3 }\n`;
    expect(pipelineOf(readStored('digits', text)).limits).toMatchObject({ attempts: 7, budgetUsd: 5 });
  });

  it('names every problem when it is wrong', () => {
    const problems = problemsOf(readStored('digits', `${SHORT}limits: { attempts: 0, budgetUsd: 0 }`));
    expect(problems.map((problem) => problem.path)).toEqual([
      'limits.attempts',
      'limits.budgetUsd',
      'tuning.limits.attempts',
    ]);
  });
});

describe('a declaration of 0.1.0 that a person applies', () => {
  it('is refused with the new place of each field', () => {
    const problems = problemsOf(readDeclaration('digits', TEXT));
    expect(problems.map((problem) => problem.path).sort()).toEqual(MOVED.toSorted());
    for (const problem of problems)
      expect(problem.message).toMatch(
        new RegExp(
          `^is .+, and belongs under tuning: write it as tuning\\.${problem.path} \\(docs/tuning\\.md\\)$`,
        ),
      );
    expect(problems).toContainEqual({
      path: 'compute.needs.kinds',
      message:
        'is ["A10G","L4"], and belongs under tuning: write it as tuning.compute.needs.kinds (docs/tuning.md)',
    });
  });

  it('is refused without the value of a whole part', () => {
    const text = SHORT.replace('] }', '], mayAddHelpers: {} }');
    expect(problemsOf(readDeclaration('digits', text))).toContainEqual({
      path: 'compute.mayAddHelpers',
      message: 'belongs under tuning: write it as tuning.compute.mayAddHelpers (docs/tuning.md)',
    });
  });

  it('has its other problems named beside', () => {
    const problems = problemsOf(readDeclaration('digits', `${TEXT}colour: blue\n`));
    expect(problems).toHaveLength(MOVED.length + 1);
    expect(problems.at(-1)?.message).toMatch(
      /^has no field "colour": take it out, or write one of name, .*tuning$/,
    );
  });

  it('is accepted once its text is upgraded', () => {
    const text = upgradedText(TEXT);
    expect(pipelineOf(readDeclaration('digits', text))).toEqual(PINNED);
    expect(text).toContain('seed: 7 # the order of last year');
    expect(text.startsWith('# A pipeline of 0.1.0 with every field.\n')).toBe(true);
    expect(upgradedText(text)).toBe(text);
  });

  it('can be pinned to a version meanwhile', () => {
    const text = withPin(TEXT, 'digits-000009') ?? '';
    expect(pipelineOf(readDeclaration('digits', text)).dataset?.pin).toBe('digits-000009');
  });
});

describe('a declaration as people write it', () => {
  it('is what the API shows of a stored one', () => {
    const shown = writtenPipeline(pinned(pipelineSchema).parse(PINNED));
    expect(writtenSchema.parse(shown)).toEqual(shown);
    expect(shown.tuning?.packing?.prepare?.image?.background).toBe('#ffffff');
    expect(placed(shown)).toEqual(PINNED);
  });

  it.each([
    ['tuning: {}', []],
    ['tuning: { limits: {} }', []],
    ['tuning:', ['tuning']],
    ['tuning: { limits: { budgetUsd: 1 } }', ['tuning.limits']],
    ['tuning: { notify: [] }', ['tuning']],
    ['tuning: { packing: { sed: 1 } }', ['tuning.packing']],
    ['tuning: { compute: { mayAddHelpers: { nodes: 1 } } }', ['tuning.compute.mayAddHelpers']],
    ['tuning: { compute: { needs: { vcpus: 4 } } }', ['compute.needs.accelerators']],
    ['tuning: { packing: { prepare: { image: { background: "#ffffff" } } } }', ['tuning.packing.prepare']],
    ['packing: { seed: 1 }\ntuning: { packing: { seed: 2 } }', ['packing', 'packing.seed']],
    ['packing: { balance: over }\ntuning: { packing: { remainder: drop } }', ['tuning.packing.remainder']],
    ['tuning: &all { limits: *all }', ['tuning.limits']],
  ])('has problems by their places: %s', (more, places) => {
    for (const read of [readDeclaration, readStored]) {
      const problems = problemsOf(read('digits', `${SHORT}${more}\n`));
      expect([...new Set(problems.map((problem) => problem.path))].sort()).toEqual(places);
    }
  });

  it('is changed for one run at its new places', () => {
    const pipeline = pipelineOf(readDeclaration('digits', `${SHORT}tuning: { limits: { attempts: 9 } }`));
    const changed = (change: object) => changeDeclaration(pipeline, JSON.stringify(change));
    expect(pipelineOf(changed({ tuning: { limits: { attempts: 4 } } })).limits.attempts).toBe(4);
    expect(pipelineOf(changed({ tuning: { limits: { attempts: null } } })).limits.attempts).toBe(50);
    expect(problemsOf(changed({ limits: { attempts: 4 } }))).toMatchObject([{ path: 'limits.attempts' }]);
    expect(problemsOf(changed({ tuning: { packing: { seed: 2 } } }))).toMatchObject([{ path: 'packing' }]);
  });
});
