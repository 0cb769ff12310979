/** The types of a client in TypeScript, from the OpenAPI document. */
import * as z from 'zod';
import { commentOf, jsonSchema, nameOf, refuseUnknown, typeOf } from './json-schema.ts';

const reference = z.object({ schema: z.object({ $ref: z.string() }) });
const content = z.object({ 'application/json': reference });

const operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  'x-tidewheel-role': z.string(),
  parameters: z
    .array(
      z.object({
        name: z.string(),
        in: z.enum(['path', 'query']),
        required: z.boolean(),
        description: z.string().optional(),
        schema: jsonSchema,
      }),
    )
    .default([]),
  requestBody: z.object({ required: z.boolean(), content }).optional(),
  responses: z.record(z.string(), z.object({ content })),
});
type DocumentedOperation = z.infer<typeof operation>;

const openApi = z.object({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({ schemas: z.record(z.string(), jsonSchema) }),
});

const HEAD = `// Written by \`npm run openapi\` from the schemas in functions/core/api; edit those instead.
`;

/** @throws Error for a part of the document that no type tells */
export function clientTypes(document: unknown): string {
  const { paths, components } = openApi.parse(document);
  refuseUnknown(
    Object.values(
      z.object({ components: z.looseObject({ schemas: z.looseObject({}) }) }).parse(document).components
        .schemas,
    ),
  );
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]) => ({ path, method: method.toUpperCase(), ...each })),
  );
  const types = Object.entries(components.schemas).map(
    ([name, each]) => `${commentOf(each.description)}export type ${name} = ${typeOf(each)};\n`,
  );
  const table = operations.map(
    ({ operationId, method, path }) =>
      `${operationId}: { method: ${JSON.stringify(method)}, path: ${JSON.stringify(path)} },`,
  );
  return indented([
    HEAD,
    ...types,
    'export interface Operations {',
    ...operations.map(entryOf),
    '}\n',
    'export const OPERATIONS = {',
    ...table,
    '} as const satisfies Readonly<Record<keyof Operations, { readonly method: string; readonly path: string }>>;',
    '',
  ]);
}

/** Two spaces for each brace that is open. */
function indented(parts: readonly string[]): string {
  let depth = 0;
  return parts
    .join('\n')
    .split('\n')
    .map((line) => {
      const text = line.trim();
      if (text.startsWith('/**')) return `${'  '.repeat(depth)}${text}`;
      const opened = text.split('{').length - text.split('}').length;
      const outer = text.startsWith('}') ? depth - 1 : depth;
      depth += opened;
      return text === '' ? '' : `${'  '.repeat(outer)}${text}`;
    })
    .join('\n');
}

function entryOf({
  operationId,
  summary,
  parameters,
  requestBody,
  responses,
  ...rest
}: DocumentedOperation): string {
  const answered = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
  const body = requestBody === undefined ? 'undefined' : nameOfContent(requestBody.content);
  const fields = parameters.map(
    ({ name, required, description, schema }) =>
      `${commentOf(description)}readonly ${name}${required ? '' : '?'}: ${typeOf(schema)}${required ? '' : ' | undefined'};`,
  );
  return `/** ${summary} For the role ${rest['x-tidewheel-role']}. */
  readonly ${operationId}: {
  readonly parameters: ${fields.length === 0 ? 'Readonly<Record<never, never>>' : `{\n${fields.join('\n')}\n}`};
  readonly body: ${body}${requestBody?.required === false ? ' | undefined' : ''};
  readonly answer: ${answered === undefined ? 'undefined' : nameOfContent(answered.content)};
  };`;
}

const nameOfContent = (of: z.infer<typeof content>): string => nameOf(of['application/json'].schema.$ref);
