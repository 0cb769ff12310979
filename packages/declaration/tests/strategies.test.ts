/** The table of strategies, and what a pipeline may declare with each. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesOfProject } from '../../../test/support/import-graph.ts';
import { pipelineSchema } from '../schema/pipeline.ts';
import { STRATEGIES } from '../schema/strategies.ts';

const ROOT = path.join(import.meta.dirname, '../../..');
const TABLE = 'packages/declaration/schema/strategies.ts';

it("is the service's only file that quotes a strategy", () => {
  const quoted = new RegExp(`['"\`](${STRATEGIES.join('|')})['"\`]`);
  const files = filesOfProject(ROOT).filter((file) =>
    /^(?:functions|packages)\/(?!\w+\/tests\/).*\.ts$/.test(file),
  );
  expect(files.filter((file) => quoted.test(readFileSync(path.join(ROOT, file), 'utf8')))).toEqual([TABLE]);
});

describe('the framework of the image', () => {
  const problemsOf = (training: object, compute = {}) =>
    STRATEGIES.filter((strategy) =>
      pipelineSchema
        .safeParse({ training: { strategy, framework: 'pytorch', ...training }, compute })
        .error?.issues.some((issue) => issue.path.join('.') === 'training.framework'),
    );

  it('must be the one that the strategy needs', () => {
    expect(problemsOf({})).toEqual(['parameter-server', 'multi-worker-mirrored', 'data-service']);
    expect(problemsOf({ framework: 'tensorflow' })).toEqual(['ddp']);
  });

  it('does not matter with an image of your own', () => {
    expect(problemsOf({ image: '123456789012.dkr.ecr.us-east-1.amazonaws.com/own:1' })).toEqual([]);
  });

  it('does not matter on EC2 with a machine image', () => {
    expect(problemsOf({}, { launcher: 'ec2' })).toEqual([]);
  });
});
