/** Every field that AWS's model has for a training job has a line of what becomes of it. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pipelineJsonSchema } from '@tidewheel/declaration/read.ts';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ARGUMENTS, fieldLine } from '../../cli/init/fields.ts';
import { loadModel } from './botocore.ts';

const { shapes } = loadModel('sagemaker/2017-07-24');

/** Paths of all fields below a shape, without the indices of lists. A map of free names is one field. */
function leavesOf(name: string, at: string): string[] {
  const shape = shapes[name];
  if (shape === undefined) throw new Error(`the model has no shape ${name}`);
  if (shape.type === 'list') return leavesOf(shape.member?.shape ?? '', at);
  if (shape.type !== 'structure') return [at];
  return Object.entries(shape.members ?? {}).flatMap(([member, { shape: below }]) =>
    leavesOf(below, at === '' ? member : `${at}.${member}`),
  );
}

const FIELDS = leavesOf('CreateTrainingJobRequest', '');

describe('fields of CreateTrainingJob', () => {
  it('have a line each', () => {
    expect(FIELDS.length).toBeGreaterThan(100);
    expect(FIELDS.filter((at) => fieldLine(at, undefined) === undefined)).toEqual([]);
  });

  it('are all that the table has', () => {
    const stale = Object.keys(ARGUMENTS.fields).filter(
      (at) => !FIELDS.some((field) => field === at || (at.endsWith('.') && field.startsWith(at))),
    );
    expect(stale).toEqual([]);
  });

  it('that are refused or replaced have the reason', () => {
    const silent = FIELDS.filter((at) => {
      const line = fieldLine(at, undefined);
      return line?.verdict !== 'same' && !line?.why;
    });
    expect(silent).toEqual([]);
  });

  it('go to fields that a declaration has', () => {
    const schema: unknown = pipelineJsonSchema();
    const named = FIELDS.map((at) => fieldLine(at, undefined)?.ours ?? '');
    const declared = named.filter((ours) => /^(training|compute|limits|tuning)\./.test(ours));
    expect(declared.length).toBeGreaterThan(10);
    expect(declared.filter((ours) => !hasField(schema, ours.split('.')))).toEqual([]);
  });
});

const branch = z.looseObject({ properties: z.record(z.string(), z.unknown()).optional() });
function hasField(schema: unknown, [name = '', ...below]: readonly string[]): boolean {
  const found = branch.parse(schema).properties?.[name];
  return found !== undefined && (below.length === 0 || hasField(found, below));
}

describe('arguments of the SDK', () => {
  const { estimator, trainingInput, modelTrainer, skypilot, sourceCode } = ARGUMENTS;

  it('go to fields that AWS has', () => {
    const paths = [estimator, trainingInput, modelTrainer, skypilot, sourceCode]
      .flatMap((table) => Object.values(table))
      .filter((line) => typeof line === 'string');
    expect(paths.length).toBeGreaterThan(60);
    expect(paths.filter((at) => !FIELDS.some((field) => field.startsWith(at)))).toEqual([]);
  });

  it('stand on their page', () => {
    const page = readFileSync(path.join(import.meta.dirname, '../../docs/from-sagemaker.md'), 'utf8');
    const names = [estimator, trainingInput, modelTrainer, sourceCode].flatMap((table) => Object.keys(table));
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});
