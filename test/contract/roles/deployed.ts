/** The roles of a deployment with parameters. osls packages once, without any, because packaging takes a minute. */
import { createRequire } from 'node:module';
import path from 'node:path';
import { rolesDocument } from '../../../serverless/roles.ts';
import type { Template } from '../packaged.ts';

export type Parameters = Readonly<Record<string, string>>;

interface Context {
  resolveVariable(name: string): Promise<string>;
}
type Lists = Readonly<Record<string, (context: Context) => Promise<unknown>>>;

const lists = createRequire(import.meta.url)(
  path.join(import.meta.dirname, '../../../serverless/allowed.cjs'),
) as Lists;

const LIST = /^\$\{file\(serverless\/allowed\.cjs\):(\w+)\}$/;
const PARAMETER = /\$\{param:(\w+), '([^']*)'\}/g;
const SELF: Readonly<Record<string, string>> = {
  service: 'tidewheel',
  'provider.stage': 'dev',
  'provider.region': 'us-east-1',
};

/** @returns a list, as a policy has it */
export function listOf(name: string, parameters: Parameters): Promise<unknown> {
  const list = lists[name];
  if (list === undefined) throw new Error(`serverless/allowed.cjs has no ${name}`);
  return list({ resolveVariable: (text) => Promise.resolve(filled(`\${${text}}`, parameters)) });
}

const filled = (text: string, parameters: Parameters): string =>
  text
    .replaceAll(PARAMETER, (_, name: string, otherwise: string) => parameters[name] ?? otherwise)
    .replaceAll(/\$\{self:([\w.]+)\}/g, (_, name: string) => SELF[name] ?? '');

async function resolved(value: unknown, parameters: Parameters): Promise<unknown> {
  if (typeof value === 'string') {
    const [, list] = LIST.exec(value) ?? [];
    return list === undefined ? filled(value, parameters) : listOf(list, parameters);
  }
  if (Array.isArray(value)) return Promise.all(value.map((each) => resolved(each, parameters)));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(
    async ([name, each]) => [name, await resolved(each, parameters)] as const,
  );
  return Object.fromEntries(await Promise.all(fields));
}

/** @param template the packaged one, for all that is not in `rolesDocument` */
export async function deployedWith(template: Template, parameters: Parameters): Promise<Template> {
  const { Conditions, Resources } = (await resolved(rolesDocument, parameters)) as Template;
  return {
    ...template,
    Conditions: { ...template.Conditions, ...Conditions },
    Resources: { ...template.Resources, ...Resources },
  };
}
