/** `--set NAME=VALUE`: a part of a declaration, as the API takes it. */
import { parse } from 'yaml';
import * as z from 'zod';
import { nearest } from '../../functions/core/shared/nearest.ts';

type Part = { [field: string]: unknown };

const ASSIGNMENT = /^([^=]+)=(.*)$/s;
/** Sections of a declaration that an override may name in full. */
const SECTIONS = ['training', 'compute', 'limits', 'retention', 'packing', 'settle', 'dataset'];
const SHORT: Readonly<Record<string, readonly string[]>> = {
  deadline: ['limits', 'deadlineHours'],
  budget: ['limits', 'budgetUsd'],
};

export const SET_OPTION = {
  type: 'string',
  multiple: true,
  value: 'NAME=VALUE',
  about: 'change this; may come again',
} as const;

/** For the text of --help. */
export const SET_ABOUT = `--set changes a part of the declaration: lr=1e-4 a hyperparameter, deadline=12 and budget=20 the
limits, compute.nodes=2 any field by its path; NAME= takes it out.`;

export const setSchema = z
  .array(
    z.string().superRefine((text, problems) => {
      const message = problemOf(text);
      if (message !== undefined) problems.addIssue({ code: 'custom', message });
    }),
  )
  .default([]);

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
  const near = nearest(section, known);
  return near === undefined || known.includes(section)
    ? undefined
    : `did you mean ${[near, ...fields].join('.')}?`;
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
    put(change, path, value === '' ? null : valueOf(value));
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

function valueOf(text: string): unknown {
  try {
    const value: unknown = parse(text);
    return value;
  } catch {
    return text;
  }
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
