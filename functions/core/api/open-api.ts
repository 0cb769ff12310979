/** The OpenAPI document, made from the schemas that check the requests. https://spec.openapis.org/oas/v3.1.1.html */
import * as z from 'zod';
import { reportSchema } from '../attempts/report.ts';
import { writtenSchema } from '../pipeline/tuning.ts';
import * as placements from '../placement/placement-records.ts';
import { pipelineRecordSchema } from '../runs/batches.ts';
import { runStatusSchema, timelineEntrySchema } from '../runs/run-records.ts';
import { problemSchema } from '../shared/fields.ts';
import { OPERATIONS, ROUTES } from './operations.ts';
import * as attempts from './schemas/attempts.ts';
import { type Operation, refusalSchema } from './schemas/operation.ts';
import { placement } from './schemas/placements.ts';
import * as runs from './schemas/runs.ts';

type Document = Record<string, unknown>;

/** Schemas with a name of their own in the document. */
const ANSWERS: Named = {
  Attempt: attempts.attempt,
  Placement: placement,
  PlacementDecision: placements.placementDecisionSchema,
  Pool: placements.poolSchema,
  PoolAssessment: placements.poolAssessmentSchema,
  Problem: problemSchema,
  Progress: attempts.progress,
  Refusal: refusalSchema,
  Report: reportSchema,
  Run: runs.run,
  RunDeclaration: writtenSchema,
  RunStatus: runStatusSchema,
  RunSummary: runs.runSummary,
  AttemptSummary: attempts.attemptSummary,
  TimelineEntry: timelineEntrySchema,
  Topology: placements.topologySchema,
  Pipeline: pipelineRecordSchema,
};
const BODIES: Named = { Declaration: writtenSchema };

/** By schema, so that operations may share one. */
function namesOf(schemas: Named, own: (operation: Operation) => z.ZodType | undefined, suffix: string) {
  const names = new Map(Object.entries(schemas).map(([name, schema]) => [schema, name]));
  for (const route of ROUTES) {
    const { id } = OPERATIONS[route];
    const schema = own(OPERATIONS[route]);
    if (schema !== undefined && !names.has(schema))
      names.set(schema, `${id.charAt(0).toUpperCase()}${id.slice(1)}${suffix}`);
  }
  return names;
}

type Names = ReturnType<typeof namesOf>;

export function openApiDocument(): Document {
  const answers = namesOf(ANSWERS, ({ answer }) => answer, 'Answer');
  const bodies = namesOf(BODIES, ({ body }) => body?.schema, 'Body');
  return {
    openapi: '3.1.1',
    info: {
      title: 'Tidewheel',
      version: '1',
      description: 'Pipelines and runs. Every call may be repeated. docs/api.md says who may call, and how.',
    },
    paths: pathsOf(answers, bodies),
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

function pathsOf(answers: Names, bodies: Names): Document {
  const paths = new Map<string, Document>();
  for (const route of ROUTES) {
    const [method = '', path = ''] = route.split(' ');
    const operation = describe(path, OPERATIONS[route], answers, bodies);
    paths.set(path, { ...paths.get(path), [method.toLowerCase()]: operation });
  }
  return Object.fromEntries(paths);
}

function describe(path: string, operation: Operation, answers: Names, bodies: Names): Document {
  const { id, summary, role, query, body, status, answer, refusals } = operation;
  const parameters = [...pathParameters(path), ...queryParameters(query)];
  return {
    operationId: id,
    summary,
    'x-tidewheel-role': role,
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: { required: body.required, content: contentOf(reference(bodies.get(body.schema)), body) },
    }),
    responses: Object.fromEntries([
      [status, { description: summary, content: contentOf(reference(answers.get(answer))) }],
      ...[400, 403, ...refusals, 429].map((each) => [each, refusal(each)]),
    ]),
  };
}

const contentOf = (schema: Document, { yaml }: { readonly yaml?: true } = {}): Document => ({
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
    schema: { type: 'string' },
  }));

function queryParameters(query: z.ZodObject): Document[] {
  const { properties = {}, required = [] } = z.toJSONSchema(query, { io: 'input' });
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = typeof property === 'object' ? property : {};
    return { name, in: 'query', required: required.includes(name), description, schema };
  });
}

const MEANINGS: Readonly<Record<number, string>> = {
  400: 'The request is not valid: every problem, with its remedy.',
  403: 'The caller may not do this.',
  404: 'There is nothing of this name.',
  409: 'The state of the run or pipeline does not allow it.',
  429: 'AWS throttles the service: make the same call again after Retry-After seconds.',
};

const refusal = (status: number): Document => ({
  description: MEANINGS[status],
  content: contentOf(reference('Refusal')),
});
