/** Whole numbers that YAML writes in other bases. */
import { expect, it } from 'vitest';
import { readDeclaration } from '../schema/declaration.ts';

const withSeed = (text: string) =>
  readDeclaration(
    'digits',
    `name: digits
training: { strategy: ddp, hyperparameters: { seed: ${text} } }
compute: { instanceTypes: [g5.xlarge] }
`,
  );

it.each([
  ['0x1fffffffffffff1', 15],
  ['0o7777777777777777777', 19],
])('%s is more than a double holds', (text, digits) => {
  expect(withSeed(text)).toEqual({
    valid: false,
    problems: [
      {
        path: 'training.hyperparameters.seed',
        message: `has ${digits} digits, more than a number holds: put it in quotes to pass it as text`,
      },
    ],
  });
});

it.each(['0xff', '0o755', '0x20000000000000'])('%s is taken', (text) => {
  expect(withSeed(text)).toMatchObject({ valid: true });
});
