/** `--set NAME=VALUE`: a part of a declaration, as the API takes it. */

import { trainingSchema } from '@tidewheel/declaration/pipeline.ts';
import { writtenValue } from '@tidewheel/declaration/read.ts';
import { HYPERPARAMETERS } from '@tidewheel/declaration/script.ts';
import { nearest } from '@tidewheel/kit/nearest.mjs';
import * as z from 'zod';
import { option } from './verb.ts';

type Part = { [field: string]: unknown };

const ASSIGNMENT = /^([^=]+)=(.*)$/s;
/** Sections of a declaration that an override may name in full. */
const SECTIONS = ['training', 'compute', 'limits', 'retention', 'packing', 'settle', 'dataset', 'tuning'];
const SHORT: Readonly<Record<string, readonly string[]>> = {
  deadline: ['limits', 'deadlineHours'],
  budget: ['limits', 'budgetUsd'],
};

/** For the text of --help. */
export const SET_ABOUT = `--set changes a part of the declaration: lr=1e-4 a hyperparameter, deadline=12 and budget=20 the
limits, compute.nodes=2 any field by its path; NAME= takes it out.`;

export const setOption = option(
  'NAME=VALUE',
  'change this; may come again',
  z
    .array(
      z.string().superRefine((text, problems) => {
        const message = problemOf(text);
        if (message !== undefined) problems.addIssue({ code: 'custom', message });
      }),
    )
    .default([]),
);

function problemOf(text: string): string | undefined {
  const [, name] = ASSIGNMENT.exec(text) ?? [];
  return name === undefined
    ? 'write NAME=VALUE, such as lr=1e-4 or limits.deadlineHours=12'
    : mistypedName(name);
}

/** A run with a hyperparameter that no script reads would cost as much as the one that was meant. */
export function mistypedName(name: string): string | undefined {
  const [section = '', ...fields] = name.split('.');
  if (fields.length === 0 && SECTIONS.includes(name)) return `name one of its fields: ${name}.FIELD=VALUE`;
  const known = fields.length === 0 ? Object.keys(SHORT) : SECTIONS;
  if (section === 'training') return mistypedTraining(fields);
  const near = nearest(section, known);
  return near === undefined || known.includes(section)
    ? undefined
    : `did you mean ${[near, ...fields].join('.')}?`;
}

/** `training.workers=2` means an argument of the script more often than a field that is not there. */
function mistypedTraining([field = '']: readonly string[]): string | undefined {
  const known = Object.keys(trainingSchema.shape);
  if (known.includes(field)) return undefined;
  const near = nearest(field, known);
  return near === undefined
    ? `training has no field "${field}"; an argument of the script is named alone: ${field}=VALUE`
    : `did you mean training.${near}?`;
}

interface CommandLine {
  readonly arguments?: readonly (string | readonly string[])[] | undefined;
  readonly command?: readonly string[] | undefined;
}

/**
 * Hyperparameters that a run changes and that its script does not see on its command line.
 * @returns a remark, or undefined where the script sees all of them
 */
export function unseenText(training: CommandLine, assignments: readonly string[]): string | undefined {
  const words = training.command ?? training.arguments;
  if (words === undefined || words.flat().includes(HYPERPARAMETERS)) return undefined;
  const names = assignments.map((text) => pathOf(ASSIGNMENT.exec(text)?.[1] ?? ''));
  const unseen = names.flatMap(([, field, name]) =>
    field === 'hyperparameters' && name !== undefined ? [name] : [],
  );
  return unseen.length === 0
    ? undefined
    : `training.arguments does not pass ${unseen.join(', ')} to the script, which finds ${unseen.length === 1 ? 'it' : 'them'} in SM_HPS alone: add '${HYPERPARAMETERS}' to training.arguments`;
}

/**
 * `lr=1e-4` sets a hyperparameter, `limits.deadlineHours=12` a field by its path, `deadline=12` and `budget=20` those
 * limits. Values are YAML: numbers, true, text, `[a, b]`; nothing takes the field out.
 */
export function overridesOf(assignments: readonly string[]): Part {
  const change: Part = {};
  for (const text of assignments) {
    const [, name = '', value = ''] = ASSIGNMENT.exec(text) ?? [];
    const path = pathOf(name);
    put(change, path, value === '' ? null : writtenValue(path, value));
  }
  return change;
}

function pathOf(name: string): readonly string[] {
  const short = Object.hasOwn(SHORT, name) ? SHORT[name] : undefined;
  if (short !== undefined) return short;
  const [section = '', ...fields] = name.split('.');
  return SECTIONS.includes(section) && fields.length > 0
    ? [section, ...fields]
    : ['training', 'hyperparameters', name];
}

function put(into: Part, [field = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    Object.defineProperty(into, field, { value, enumerable: true, writable: true, configurable: true });
    return;
  }
  const inner = Object.hasOwn(into, field) ? into[field] : undefined;
  const part: Part = isPart(inner) ? inner : {};
  // Not by assignment, which __proto__ would turn into another prototype.
  Object.defineProperty(into, field, { value: part, enumerable: true, writable: true, configurable: true });
  put(part, rest, value);
}

const isPart = (value: unknown): value is Part =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
