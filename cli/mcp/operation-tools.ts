import { isTable } from '@tidewheel/kit/tables.ts';
/** Tools of the MCP server, one for each operation of docs/openapi.json. */
import * as z from 'zod';
import type { Input, OperationId } from '../../client/client.ts';
import { OPERATIONS } from '../../client/operations.ts';
import document from '../../docs/openapi.json' with { type: 'json' };

type Schema = Readonly<Record<string, unknown>>;
const schema = z.record(z.string(), z.unknown()).readonly();

const parameter = z.object({
  name: z.string(),
  in: z.enum(['path', 'query', 'header']),
  required: z.boolean(),
  description: z.string().optional(),
  schema,
});
const operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  'x-tidewheel-role': z.enum(['viewer', 'operator']),
  'x-tidewheel-risk': z.enum(['money', 'loss']).optional(),
  parameters: z.array(parameter).default([]),
  requestBody: z
    .object({
      required: z.boolean(),
      content: z.object({
        'application/json': z.object({ schema }),
        'application/yaml': z.unknown().optional(),
      }),
    })
    .optional(),
});
const openApi = z.object({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({ schemas: z.record(z.string(), schema) }),
});
type Described = z.output<typeof operation>;

export type Risk = NonNullable<Described['x-tidewheel-risk']>;
export type ToolArguments = Readonly<Record<string, unknown>>;

/** As `tools/list` shows it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object'; readonly properties: Schema; readonly required: string[] };
  readonly isReading: boolean;
  readonly risk: Risk | undefined;
}

export interface OperationTool extends ToolDefinition {
  readonly id: OperationId;
  /** Whether its body takes a name that makes a repeated call the same. */
  readonly takesToken: boolean;
}

function toolOf(id: OperationId, described: Described): OperationTool {
  const { summary, 'x-tidewheel-risk': risk, requestBody } = described;
  const own = described.parameters.filter((each) => each.in !== 'header');
  const body = requestBody && bodyOf(requestBody);
  const properties = {
    ...Object.fromEntries(own.map(({ name, description, schema: of }) => [name, { description, ...of }])),
    ...body?.properties,
    ...(risk !== undefined && CONFIRM),
  };
  return {
    id,
    name: id,
    description: [summary, ...(risk === undefined ? [] : [RISKS[risk]])].join(' '),
    inputSchema: {
      type: 'object',
      properties,
      required: [...own.flatMap(({ name, required }) => (required ? [name] : [])), ...(body?.required ?? [])],
    },
    isReading: described['x-tidewheel-role'] === 'viewer',
    risk,
    takesToken: JSON.stringify(body ?? {}).includes('"clientToken"'),
  };
}

export const RISKS: Readonly<Record<Risk, string>> = {
  money: 'May cost money: the first call is a dry run.',
  loss: 'Ends, removes or replaces something: the first call is a dry run.',
};

export const CONFIRM = {
  confirm: { type: 'string', description: 'From the dry run of the same call. Absent: a dry run.' },
} as const;

/** A declaration comes as its text: its schema is docs/pipeline.md, and far larger than all others together. */
function bodyOf({ required, content }: NonNullable<Described['requestBody']>) {
  const isDeclaration = content['application/yaml'] !== undefined;
  const name = isDeclaration ? 'yaml' : 'body';
  const described: Schema = isDeclaration
    ? { type: 'string', description: 'The whole declaration in YAML (docs/pipeline.md).' }
    : inlined(content['application/json'].schema);
  return { properties: { [name]: described }, required: required ? [name] : [] };
}

/** With what it refers to in place. */
function inlined(of: Schema): Schema {
  const { $ref: reference } = of;
  if (typeof reference === 'string')
    return inlined(components.schemas[reference.split('/').at(-1) ?? ''] ?? {});
  const valueOf = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(valueOf) : isTable(value) ? inlined(value) : value;
  return Object.fromEntries(Object.entries(of).map(([name, value]) => [name, valueOf(value)]));
}

/** The API checks it, and names every field that is wrong. */
const input = z.custom<Input<OperationId>>(isTable);

export function inputOf({ confirm: _confirm, yaml, ...given }: ToolArguments): Input<OperationId> {
  return input.parse(typeof yaml === 'string' ? { ...given, body: { yaml } } : given);
}

const isOperationId = (id: string): id is OperationId => Object.hasOwn(OPERATIONS, id);
const { paths, components } = openApi.parse(document);

/** The caller has the tools already. */
const LEFT_OUT: readonly string[] = ['getOpenApi'] satisfies OperationId[];

export const OPERATION_TOOLS: readonly OperationTool[] = Object.values(paths)
  .flatMap((each) => Object.values(each))
  .flatMap((described) => {
    const { operationId: id } = described;
    return isOperationId(id) && !LEFT_OUT.includes(id) ? [toolOf(id, described)] : [];
  });
