/** Which model a run begins from, and which one becomes the current one. */

import { problemText } from '@tidewheel/kit/errors.ts';
import { describe, expect, it } from 'vitest';
import { readDeclaration } from '../schema/declaration.ts';

function problemsOf(training: string, rest = ''): readonly string[] {
  const text = `
name: digits
training: { strategy: single, ${training} }
compute: { instanceTypes: [g5.xlarge] }
${rest}`;
  const declaration = readDeclaration('digits', text);
  return declaration.valid ? [] : declaration.problems.map(problemText);
}

describe('training.startFrom', () => {
  it.each(['none', 'last', 'digits-000007', 's3://bucket/a/model.tar.gz'])('takes %s', (from) => {
    expect(problemsOf(`startFrom: ${from}, arguments: ['--init=\${channel:model}?']`)).toEqual([]);
  });

  it('takes the current model of a pipeline that promotes', () => {
    expect(problemsOf('startFrom: current', 'promote: byHand')).toEqual([]);
    expect(problemsOf('startFrom: current')).toEqual([
      expect.stringMatching(/^training\.startFrom: .*declare promote: always, byHand or never$/),
    ]);
  });

  it.each(['newest', 'digits-7', 's3://bucket/a/model.pt', 's3://bucket/a/', '../000001'])(
    'refuses %s',
    (from) => {
      expect(problemsOf(`startFrom: ${from}`).join()).toContain(
        'write none, last, current, a run such as digits-000007, or s3://bucket/…/model.tar.gz',
      );
    },
  );

  it.each([
    ["arguments: ['--init=${channel:model}']", 'end the argument with ?'],
    ["environment: { INIT: '${channel:model}' }", 'read SM_CHANNEL_MODEL'],
    ['channels: { model: { s3: old/ } }', 'has the name of the channel'],
    ['model: none', 'never finds a model'],
  ])('refuses %s', (more, message) => {
    expect(problemsOf(`startFrom: last, ${more}`)).toEqual([expect.stringContaining(message)]);
  });

  it('stays in the region of the data bucket', () => {
    const text = `
name: digits
training: { strategy: single, startFrom: last }
compute: { instanceTypes: [g5.xlarge], regions: [{ name: us-west-2 }] }`;
    const declaration = readDeclaration('digits', text);
    expect(declaration.valid ? [] : declaration.problems.map(({ path }) => path)).toContain(
      'compute.regions',
    );
  });

  it('alone gives the channel', () => {
    expect(problemsOf("arguments: ['--init=${channel:model}?']")).toEqual([
      expect.stringContaining('names the channel model'),
    ]);
    expect(problemsOf("arguments: ['${channel:model}'], channels: { model: { s3: old/ } }")).toEqual([]);
  });
});

describe('registries', () => {
  const TRACKED = 'environment: { MLFLOW_TRACKING_URI: "https://mlflow.example.com" }';

  it.each([
    ['model: required', '{ sagemaker: { approvalPromotes: true } }'],
    ['model: required', '{ mlflow: { secret: tidewheel/registry/team, model: digits of all } }'],
    [TRACKED, '{ sagemaker: {}, mlflow: {} }'],
  ])('take %s with %s', (training, registries) => {
    expect(problemsOf(training, `promote: always\nregistries: ${registries}`)).toEqual([]);
  });

  it.each([
    ['{ sagemaker: {} }', 'promote: says which models go on record'],
    ['{ mlflow: {} }', 'registries.mlflow: needs a tracking server'],
    ['{ mlflow: { secret: others } }', 'begins with tidewheel/registry/'],
    ['{ wandb: {} }', 'registries'],
  ])('refuse %s', (registries, message) => {
    expect(problemsOf('model: required', `registries: ${registries}`).join('\n')).toContain(message);
  });

  it('need a server that speaks HTTP', () => {
    const training = 'environment: { MLFLOW_TRACKING_URI: "file:///tmp/mlruns" }';
    expect(problemsOf(training, 'promote: always\nregistries: { mlflow: {} }')).toEqual([
      expect.stringMatching(
        /^registries\.mlflow: needs a tracking server.* is file:\/\/\/tmp\/mlruns: write https/,
      ),
    ]);
  });
});

describe('promote', () => {
  it('needs models', () => {
    expect(problemsOf('model: none', 'promote: always')).toEqual([
      expect.stringContaining('has no model to promote'),
    ]);
  });

  it('names its words', () => {
    expect(problemsOf('startFrom: none', 'promote: often').join()).toContain('always');
  });
});

describe('promote', () => {
  const objective = 'objective: { metric: accuracy, mode: max }';

  it.each(['{}', '{ whenBetterBy: 0 }', '{ notWorseBy: 0.5 %, atLeast: 0.9 }', '{ confidence: 0.99 }'])(
    'takes the rule %s',
    (rule) => {
      expect(problemsOf(objective, `promote: ${rule}`)).toEqual([]);
    },
  );

  it.each([
    ['better', 'write always, byHand, never, or a rule such as { whenBetterBy: 0 }'],
    ['{ whenBetterBy: 0, notWorseBy: 1 }', 'promote.notWorseBy: and whenBetterBy exclude each other'],
    ['{ whenBetterBy: 1 % of it }', 'write a number in the units of the metric, or a share'],
    ['{ confidence: 95 }', 'promote.confidence: '],
    ['{ whenBeter: 0 }', 'promote'],
  ])('refuses %s', (rule, message) => {
    expect(problemsOf(objective, `promote: ${rule}`).join('\n')).toContain(message);
  });

  it('by scores needs the metric that decides', () => {
    expect(problemsOf('model: required', 'promote: { whenBetterBy: 0 }')).toEqual([
      expect.stringContaining('training.objective: says by which metric promote compares models'),
    ]);
  });
});

describe('dataset.read', () => {
  const reads = (read: string, startFrom = 'last', more = ''): readonly string[] =>
    problemsOf(`startFrom: ${startFrom}`, `dataset: { read: ${read} }\n${more}`);

  it.each(['all', 'new', '{ new: all, replay: 20 % }'])('takes %s', (read) => {
    expect(reads(read)).toEqual([]);
    expect(reads(read, 'digits-000007')).toEqual([]);
  });

  it.each([
    ['old', 'last', 'write all, new, or { new: all, replay: 20 % }'],
    ['{ replay: 20 % }', 'last', 'write all, new, or'],
    ['{ new: all, replay: 0.2 }', 'last', 'or { new: all, replay: 20 % }'],
    ['new', 'none', 'declare training.startFrom: current or last, or write all'],
    ['new', 'letters-000007', 'name a run of this pipeline, or write all'],
    ['new', 's3://bucket/a/model.tar.gz', 'name a run of this pipeline, or write all'],
  ])('refuses %s from %s', (read, startFrom, message) => {
    expect(reads(read, startFrom).join('\n')).toContain(message);
  });

  it('chooses in shards', () => {
    expect(reads('new', 'last', 'packing: none').join()).toContain('declare a format, or write all');
    expect(reads('all', 'last', 'packing: none')).toEqual([]);
  });
});
