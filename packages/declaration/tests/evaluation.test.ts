/** A script that scores the models. */

import { problemText } from '@tidewheel/kit/errors.ts';
import { expect, it } from 'vitest';
import { readDeclaration } from '../schema/declaration.ts';

const OBJECTIVE = 'objective: { metric: accuracy, mode: max }';
const SPLIT = 'packing: { split: { train: 0.9, validation: 0.1 } }';

function problemsOf({
  evaluation = '{ entryPoint: evaluate.py }',
  training = OBJECTIVE,
  rest = `${SPLIT}\npromote: { whenBetterBy: 0 }`,
}): readonly string[] {
  const text = `
name: digits
training: { strategy: single, ${training} }
compute: { instanceTypes: [g5.xlarge] }
evaluation: ${evaluation}
${rest}`;
  const declaration = readDeclaration('digits', text);
  return declaration.valid ? [] : declaration.problems.map(problemText);
}

it.each([
  '{ entryPoint: evaluate.py }',
  "{ entryPoint: a/b.py, arguments: ['--model=${channel:model}', '${channel:hard}'], on: [validation, hard] }",
])('%s is taken', (evaluation) => {
  const training = `${OBJECTIVE}, channels: { hard: { s3: hard/ } }`;
  expect(problemsOf({ evaluation, training })).toEqual([]);
});

it.each([
  [{ evaluation: '{ entryPoint: evaluate.sh }' }, 'name a .py file inside the source'],
  [{ training: 'model: required' }, 'training.objective: says which of its scores counts'],
  [{ rest: SPLIT }, 'promote: says what becomes of a model that was evaluated'],
  [{ rest: 'promote: always' }, 'evaluation.on: is validation, which nothing gives'],
  [
    { evaluation: '{ entryPoint: e.py, on: [test] }' },
    'evaluation.on[0]: test is no channel of this pipeline',
  ],
  [
    { evaluation: '{ entryPoint: e.py, on: ["s3://b/hard/"] }' },
    'needs a name: declare it in training.channels',
  ],
  [
    { evaluation: "{ entryPoint: e.py, arguments: ['${channel:test}'] }" },
    'name ${channel:test}, which nothing',
  ],
  [{ evaluation: `{ entryPoint: e.py, arguments: [${'x'.repeat(900)}] }` }, 'the limit is 800'],
  [{ training: `${OBJECTIVE}, inputMode: Pipe` }, 'gives each sample once'],
  [{ training: `${OBJECTIVE}, channels: { model: { s3: m/ } }` }, 'by which evaluation gets a model'],
  [{ training: `${OBJECTIVE}, when: { worseBy: ten }` }, 'training.when.worseBy: is "ten", write a number'],
  [
    {
      training: `${OBJECTIVE}, when: { worseBy: 1 % }`,
      rest: `packing: { balance: over, label: parentFolder, split: { train: 0.9, validation: 0.1 } }\npromote: always`,
    },
    'leave packing.balance out, or training.when',
  ],
  [
    {
      training: `${OBJECTIVE}, when: { worseBy: 1 % }, channels: { hard: { s3: hard/ } }`,
      evaluation: '{ entryPoint: e.py, on: [hard] }',
    },
    'name one of validation and test',
  ],
  [{ training: `${OBJECTIVE}, channels: { tidewheel_current: { s3: m/ } }` }, 'holds the model in use'],
])('%o is refused', (declared, message) => {
  expect(problemsOf(declared).join('\n')).toContain(message);
});
