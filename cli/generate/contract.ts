/** The contract between agent and service in the agent's language, from zod by way of JSON Schema. */
import { automaticNote } from '@tidewheel/contract/automatic.ts';
import type { HostDocument } from '@tidewheel/contract/document.ts';
import { evidencePoint, hostStart, stepBlocks } from '@tidewheel/contract/evidence.ts';
import { DISK_FULL_EXIT_CODE, HOST_FAULTS, PLATFORM_FAILURE } from '@tidewheel/contract/failure.ts';
import { DOCUMENT_FILES } from '@tidewheel/contract/files.ts';
import { finishedNote } from '@tidewheel/contract/finished.ts';
import { hangNote } from '@tidewheel/contract/hangs.ts';
import { completionMarker, keptManifest, progressNote } from '@tidewheel/contract/progress.ts';
import { resumeNote } from '@tidewheel/contract/resume.ts';
import { seriesPoint, seriesStart } from '@tidewheel/contract/series.ts';
import * as z from 'zod';
import { hostReportSchema } from '../../functions/launch/job/job-document.ts';

/** By the names of their classes in Python. */
export const DOCUMENTS: Readonly<Record<string, HostDocument>> = {
  AutomaticNote: automaticNote,
  CompletionMarker: completionMarker,
  EvidencePoint: evidencePoint,
  FinishedNote: finishedNote,
  HangNote: hangNote,
  HostStart: hostStart,
  KeptManifest: keptManifest,
  ProgressNote: progressNote,
  ResumeNote: resumeNote,
  SeriesPoint: seriesPoint,
  SeriesStart: seriesStart,
  StepBlocks: stepBlocks,
};

type Schema = z.core.JSONSchema.JSONSchema;

/** As it is written, before defaults take the place of absent fields. */
export const inputSchema = ({ schema }: HostDocument): Schema => z.toJSONSchema(schema, { io: 'input' });

/** A module of Python as ruff formats it. */
export function contractModule(): string {
  const written = Object.entries(DOCUMENTS).map(([name, document]) => {
    const constants = [
      `    FILE: ClassVar[str] = ${quoted(DOCUMENT_FILES[document.name])}`,
      `    VERSION: ClassVar[int] = ${document.version}`,
    ];
    return classesOf(`${name}(Document)`, inputSchema(document), `${constants.join('\n')}\n\n`);
  });
  // Without a version: after a deployment the service reads reports of older hosts, so new fields are optional.
  written.push(classesOf('HostReport', z.toJSONSchema(hostReportSchema, { io: 'input' })));
  const names = new Map(written.flatMap(({ names }) => names));
  return `${HEADER}Fault = Literal[${HOST_FAULTS.map(quoted).join(', ')}]
PLATFORM_FAILURE = ${quoted(PLATFORM_FAILURE)}
DISK_FULL_EXIT_CODE = ${DISK_FULL_EXIT_CODE}
SCORES_FILE = ${quoted(DOCUMENT_FILES.scores)}
CURRENT_SCORES_FILE = ${quoted(DOCUMENT_FILES.currentScores)}
FINISHED_MODEL_FILE = ${quoted(DOCUMENT_FILES.finishedModel)}


@dataclass(frozen=True, kw_only=True)
class Document:
    FILE: ClassVar[str]
    VERSION: ClassVar[int]


${written.map(({ text }) => text).join('\n\n')}

NAMES = {
${[...names].map(([python, json]) => `    ${quoted(python)}: ${quoted(json)},\n`).join('')}}
"""In the documents, of each field whose name is another there."""
`;
}

const HEADER = `"""The documents that agent and service write for each other, and the words of a platform's failure.

\`npm run generate\` writes this file from packages/contract, which explains the fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from .on_use import dataclass

`;

interface Written {
  /** The class, after the classes of the objects in it. */
  readonly text: string;
  /** Each field: its name in Python, and in the document. */
  readonly names: readonly (readonly [string, string])[];
}

/** @param heading the class, with its base */
function classesOf(heading: string, schema: Schema, constants = ''): Written {
  const [name = ''] = heading.split('(');
  const inner: Written[] = [];
  const required = new Set(schema.required);
  const fields = Object.entries(schema.properties ?? {}).map(([field, of]) => {
    const each = asSchema(of);
    const type = typeOf(each, `${name}${field.charAt(0).toUpperCase()}${field.slice(1)}`, inner);
    const isNeeded = required.has(field) && each.default === undefined;
    return `    ${snakeCase(field)}: ${isNeeded ? type : withDefault(type, each.default)}`;
  });
  const names = Object.keys(schema.properties ?? {}).map((field) => [snakeCase(field), field] as const);
  const own = `@dataclass(frozen=True, kw_only=True)\nclass ${heading}:\n${constants}${fields.join('\n')}\n`;
  return {
    text: [...inner.map(({ text }) => text), own].join('\n\n'),
    names: [...inner.flatMap((each) => each.names), ...names.filter(([python, json]) => python !== json)],
  };
}

function withDefault(type: string, value: unknown): string {
  if (typeof value === 'number') return `${type} = ${value}`;
  if (typeof value === 'string') return `${type} = ${quoted(value)}`;
  return type.endsWith(' | None') ? `${type} = None` : `${type} | None = None`;
}

const SIMPLE: Readonly<Record<string, string>> = {
  boolean: 'bool',
  integer: 'int',
  null: 'None',
  number: 'float',
  string: 'str',
};

/** @param inner gets the classes that the type needs */
function typeOf(schema: Schema, name: string, inner: Written[]): string {
  const { type, anyOf = Array.isArray(type) ? type.map((each) => ({ type: each })) : undefined } = schema;
  if (schema.enum !== undefined)
    return `Literal[${schema.enum.map((each) => quoted(String(each))).join(', ')}]`;
  if (anyOf !== undefined) return anyOf.map((each) => typeOf(asSchema(each), name, inner)).join(' | ');
  if (type === 'array') return `list[${typeOf(asSchema(schema.items), singular(name), inner)}]`;
  if (type !== 'object') return schema.format === 'int64' ? 'int' : (SIMPLE[String(type)] ?? 'object');
  if (schema.properties === undefined)
    return `dict[str, ${typeOf(asSchema(schema.additionalProperties), singular(name), inner)}]`;
  inner.push(classesOf(name, schema));
  return name;
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const asSchema = (value: unknown): Schema => (isSchema(value) ? value : {});

const singular = (name: string): string => name.replace(/s$/, '');
const quoted = (text: string): string => JSON.stringify(text);
export const snakeCase = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
