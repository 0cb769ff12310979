/** The OpenAPI document, made from the schemas that check the requests. https://spec.openapis.org/oas/v3.1.1.html */

import { writtenSchema } from '@tidewheel/declaration/pipeline.ts';
import { problemSchema } from '@tidewheel/kit/fields.ts';
import {
  placementDecisionSchema,
  poolAssessmentSchema,
  poolSchema,
  topologySchema,
} from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { pipelineRecordSchema } from '../../records/batches.ts';
import { runStatusSchema, timelineEntrySchema } from '../../records/run-records.ts';
import { reportSchema } from '../../run/attempts/make-report.ts';
import { refusalSchema } from './answers.ts';
import { DRY_RUN_HEADER } from './dry-run.ts';
import { FENCE_HEADERS } from './fence-headers.ts';
import type { Described, RequestBody } from './operation.ts';
import { LONGEST_NAME } from './query-text.ts';
import * as shown from './shown.ts';

type Document = Record<string, unknown>;

/** Schemas with a name of their own in the document. */
const ANSWERS: Named = {
  Attempt: shown.attempt,
  Placement: shown.placement,
  PlacementDecision: placementDecisionSchema,
  Pool: poolSchema,
  PoolAssessment: poolAssessmentSchema,
  Problem: problemSchema,
  Progress: shown.progress,
  Refusal: refusalSchema,
  Report: reportSchema,
  Run: shown.run,
  RunDeclaration: writtenSchema,
  RunStatus: runStatusSchema,
  RunSummary: shown.runSummary,
  AttemptSummary: shown.attemptSummary,
  TimelineEntry: timelineEntrySchema,
  Topology: topologySchema,
  Pipeline: pipelineRecordSchema,
};
const BODIES: Named = { Declaration: writtenSchema };

/** By schema, so that operations may share one. */
function namesOf(schemas: Named, own: readonly (readonly [name: string, schema: z.ZodType | undefined])[]) {
  const names = new Map(Object.entries(schemas).map(([name, schema]) => [schema, name]));
  for (const [name, schema] of own)
    if (schema !== undefined && !names.has(schema))
      names.set(schema, `${name.charAt(0).toUpperCase()}${name.slice(1)}`);
  return names;
}

type Names = ReturnType<typeof namesOf>;

export function openApiDocument(operations: readonly Described[]): Document {
  const answers = namesOf(
    ANSWERS,
    operations.map(({ id, answer }) => [`${id}Answer`, answer]),
  );
  const bodies = namesOf(
    BODIES,
    operations.map(({ id, body }) => [`${id}Body`, body?.schema]),
  );
  return {
    openapi: '3.1.1',
    info: {
      title: 'Tidewheel',
      version: '1',
      description: 'Pipelines and runs. Every call may be repeated. docs/api.md says who may call, and how.',
    },
    paths: pathsOf(operations, answers, bodies),
    components: {
      schemas: { ...named(answers, 'output'), ...named(bodies, 'input') },
      securitySchemes: {
        sigv4: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: 'AWS Signature Version 4, for the service execute-api.',
          'x-amazon-apigateway-authtype': 'awsSigv4',
        },
        token: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'Of the deployment’s OIDC issuer, at the address in the output PeopleApiUrl.',
        },
      },
    },
    security: [{ sigv4: [] }, { token: [] }],
  };
}

type Named = Readonly<Record<string, z.ZodType>>;
type Direction = 'input' | 'output';

const uri = (id: string): string => `#/components/schemas/${id}`;
const reference = (id = ''): Document => ({ $ref: uri(id) });

/** JSON Schemas that refer to each other by name. */
function named(names: Names, io: Direction): Readonly<Record<string, Document>> {
  const registry = z.registry<{ id: string }>();
  for (const [schema, id] of names) registry.add(schema, { id });
  const made = z.toJSONSchema(registry, { io, uri, override: plainer });
  return Object.fromEntries(
    Object.entries(made.schemas).map(([id, { $schema: _schema, $id: _id, ...schema }]) => [id, schema]),
  );
}

/** An answer may have more fields than its reader knows, and `readOnly` means something else in OpenAPI. */
function plainer({ jsonSchema, zodSchema }: Parameters<NonNullable<Overriding['override']>>[0]): void {
  delete jsonSchema.readOnly;
  // Every integer of JSON's is bounded so.
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (zodSchema instanceof z.ZodObject && zodSchema.def.catchall === undefined)
    delete jsonSchema.additionalProperties;
}

type Overriding = NonNullable<Parameters<typeof z.toJSONSchema>[1]>;

function pathsOf(operations: readonly Described[], answers: Names, bodies: Names): Document {
  const paths = new Map<string, Document>();
  for (const operation of operations) {
    const [method = '', path = ''] = operation.route.split(' ');
    paths.set(path, {
      ...paths.get(path),
      [method.toLowerCase()]: describe(path, operation, answers, bodies),
    });
  }
  return Object.fromEntries(paths);
}

function describe(path: string, operation: Described, answers: Names, bodies: Names): Document {
  const { id, summary, role, risk, query, body, status, answer, refusals } = operation;
  const headers = [
    ...(risk === undefined ? [] : parametersOf('header', DRY_RUN_HEADER)),
    ...(risk === 'money' ? parametersOf('header', FENCE_HEADERS) : []),
  ];
  const parameters = [...pathParameters(path), ...parametersOf('query', query), ...headers];
  return {
    operationId: id,
    summary,
    'x-tidewheel-role': role,
    ...(risk && { 'x-tidewheel-risk': risk }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: { required: body.required, content: contentOf(reference(bodies.get(body.schema)), body) },
    }),
    responses: Object.fromEntries([
      [status, { description: summary, content: contentOf(reference(answers.get(answer))) }],
      ...[400, 403, ...refusals, ...(risk === undefined ? [] : [412]), 429].map((each) => [
        each,
        refusal(each),
      ]),
    ]),
  };
}

const contentOf = (schema: Document, { yaml }: Pick<RequestBody, 'yaml'> = {}): Document => ({
  'application/json': { schema },
  ...(yaml && { 'application/yaml': { schema } }),
});

const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  name: 'Name of a pipeline.',
  runId: 'Such as digits-000042.',
  attempt: 'Number of an attempt, from 1.',
};

const pathParameters = (path: string): Document[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: PATH_PARAMETERS[name],
    schema: { type: 'string', maxLength: LONGEST_NAME },
  }));

function parametersOf(place: 'query' | 'header', fields: z.ZodObject): Document[] {
  const { properties = {}, required = [] } = z.toJSONSchema(fields, { io: 'input' });
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = typeof property === 'object' ? property : {};
    return { name, in: place, required: required.includes(name), description, schema };
  });
}

const MEANINGS: Readonly<Record<number, string>> = {
  400: 'The request is not valid: every problem, with its remedy.',
  403: 'The caller may not do this.',
  404: 'There is nothing of this name.',
  409: 'The state of the run or pipeline does not allow it.',
  412: 'The dry run found nothing that speaks against the call.',
  429: 'AWS throttles the service: make the same call again after Retry-After seconds.',
};

const refusal = (status: number): Document => ({
  description: MEANINGS[status],
  content: contentOf(reference('Refusal')),
});
