/** Our table of constraints beside AWS's own service model, as botocore carries it. */
import { expect, test } from 'vitest';
import type { Constraint, Structure } from '../../../local/sagemaker/constraints.ts';
import * as shapes from '../../../local/sagemaker/shapes.ts';
import { loadModel, type ServiceModel, wholeMatch } from '../../contract/service-model.ts';

const model = loadModel('sagemaker/2017-07-24');

type ModelShape = ServiceModel['shapes'][string];

const modelShape = (name: string | undefined): ModelShape => {
  const shape = model.shapes[name ?? ''];
  if (!shape) throw new Error(`the model has no shape ${name ?? ''}`);
  return shape;
};

const NUMBERS: readonly string[] = ['integer', 'long', 'timestamp'];

/** Every difference, as a line. */
function differences(ours: Constraint, shapeName: string | undefined, path: string): string[] {
  const theirs = modelShape(shapeName);
  const kind = NUMBERS.includes(theirs.type) ? ['integer', 'number'] : [theirs.type];
  if (!kind.includes(ours.kind)) return [`${path}: ${ours.kind} here, ${theirs.type} there`];
  const bounds = new Map<string, unknown>(Object.entries(ours));
  const range = [
    ['min', bounds.get('min') ?? 0, theirs.min ?? 0],
    ['max', bounds.get('max'), theirs.max],
  ] as const;
  return [
    ...range
      .filter(([, here, there]) => here !== there)
      .map(([name, here, there]) => `${path}: ${name} ${String(here)} here, ${String(there)} there`),
    ...inside(ours, theirs, path),
  ];
}

function inside(ours: Constraint, theirs: ModelShape, path: string): string[] {
  switch (ours.kind) {
    case 'string':
      return insideText(ours, theirs, path);
    case 'list':
      return differences(ours.of, theirs.member?.shape, `${path}[]`);
    case 'map':
      return [
        ...differences(ours.key, theirs.key?.shape, `${path}.key`),
        ...differences(ours.value, theirs.value?.shape, `${path}.value`),
      ];
    case 'structure':
      return insideStructure(ours, theirs, path);
    case 'integer':
    case 'number':
    case 'boolean':
      return [];
  }
}

function insideText(ours: Constraint & { kind: 'string' }, theirs: ModelShape, path: string): string[] {
  const { values, pattern } = ours;
  const missing = values ? (theirs.enum ?? []).filter((value) => !values.includes(value)) : [];
  return [
    ...missing.map((value) => `${path}: ${value} is missing here`),
    ...(theirs.enum === undefined && values ? [`${path}: an enum here alone`] : []),
    ...(theirs.pattern === undefined ? [] : patternDifferences(pattern, theirs.pattern, path)),
  ];
}

function insideStructure(ours: Structure, theirs: ModelShape, path: string): string[] {
  const members = theirs.members ?? {};
  const required = [ours.required, theirs.required ?? []].map((names) => names.toSorted().join());
  return [
    ...(required[0] === required[1] ? [] : [`${path}: other required members`]),
    ...Object.keys(members).flatMap((name) => (name in ours.members ? [] : [`${path}.${name}: not here`])),
    ...Object.entries(ours.members).flatMap(([name, member]) =>
      name in members
        ? differences(member, members[name]?.shape, `${path}.${name}`)
        : [`${path}.${name}: not there`],
    ),
  ];
}

const isTrivial = (pattern: string): boolean => ['.*', '[\\S\\s]*'].includes(pattern);

const SAMPLES = [
  '',
  'a',
  'A-b',
  'a_b',
  'a.b',
  '-a',
  'a-',
  'a b',
  'a\nb',
  '1',
  'é',
  's3://b/k',
  'https://h/b',
  'ftp://x',
  'arn:aws:iam::123456789012:role/r',
  'fs-0123abcd',
  'a/b:c',
  '{}',
];

function patternDifferences(ours: RegExp | undefined, theirs: string, path: string): string[] {
  if (!ours) return isTrivial(theirs) ? [] : [`${path}: no pattern here`];
  const whole = new RegExp(`^(?:${ours.source})$`, ours.flags);
  return SAMPLES.filter((sample) => whole.test(sample) !== wholeMatch(theirs).test(sample)).map(
    (sample) => `${path}: pattern differs for ${JSON.stringify(sample)}`,
  );
}

test('CreateTrainingJob takes what AWS’s model takes, but for families that never run here', () => {
  expect(differences(shapes.createTrainingJobInput, 'CreateTrainingJobRequest', '')).toEqual([
    // Serverless fine-tuning: no program of the caller's runs in it.
    '.ServerlessJobConfig: not here',
    '.MlflowConfig: not here',
    '.ModelPackageConfig: not here',
  ]);
});

test.each([
  ['DescribeTrainingJobRequest', shapes.namedJobInput],
  ['StopTrainingJobRequest', shapes.namedJobInput],
  ['DeleteTrainingJobRequest', shapes.namedJobInput],
  ['UpdateTrainingJobRequest', shapes.updateTrainingJobInput],
  ['ListTrainingJobsRequest', shapes.listTrainingJobsInput],
  ['AddTagsInput', shapes.addTagsInput],
  ['ListTagsInput', shapes.listTagsInput],
  ['DeleteTagsInput', shapes.deleteTagsInput],
])('%s takes what AWS’s model takes', (name, ours) => {
  expect(differences(ours, name, '')).toEqual([]);
});
