import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';

const parameters: {
  parse(given: readonly string[]): Record<string, string>;
  problemsOf(given: Record<string, string>): string[];
} = createRequire(import.meta.url)('../../../serverless/parameters.cjs');

const problemsOf = (...given: string[]) => parameters.problemsOf(parameters.parse(given));

describe('parameters of a deployment', () => {
  it('are taken with their values', () => {
    expect(problemsOf('packers=6', 'images=yes', 'alarmEmail=a@b.org')).toEqual([]);
    expect(parameters.parse(['a=b=c'])).toEqual({ a: 'b=c' });
  });

  it('are refused when misspelt', () => {
    expect(problemsOf('packer=6')).toEqual([expect.stringContaining('known are alarmEmail')]);
  });

  it.each([
    ['packers=0', '1 to 10000'],
    ['images=maybe', 'yes or no'],
    ['alarmEmail=ops', 'e-mail'],
    ['alarmTopic=ops', 'ARN of an SNS topic'],
  ])('are refused with the remedy: %s', (given, remedy) => {
    expect(problemsOf(given)).toEqual([expect.stringContaining(remedy)]);
  });
});
