/** Values of a CloudFormation template, and their text as YAML. */
import { Document, isMap, isScalar, isSeq, type Node, Scalar, visit } from 'yaml';

export type Value = string | number | boolean | readonly Value[] | { readonly [name: string]: Value };

export const ref = (id: string) => ({ Ref: id });
export const arnOf = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });
/** `${Name}` and `${AWS::Region}` are CloudFormation's. osls replaces `${self:...}` before CloudFormation reads it. */
export const sub = (text: string) => ({ 'Fn::Sub': text });

/** Conditions that hold in a deployment with the parameter (serverless/roles.ts writes them). */
export const CONDITIONS = {
  imageAccounts: 'HasImageAccounts',
  oidcIssuer: 'HasOidcIssuer',
  packageIndexRepository: 'HasPackageIndexRepository',
  packageIndexSecret: 'HasPackageIndexSecret',
  registries: 'HasRegistries',
  sharedPrefixes: 'HasSharedPrefixes',
  subnets: 'HasSubnets',
} as const;

/** Left out where the template's condition does not hold. */
export const onlyIf = (condition: string, value: Value) => ({
  'Fn::If': [condition, value, ref('AWS::NoValue')],
});

/** An ARN in the account and region of the stack. */
export const arn = (service: string, rest: string) =>
  sub(`arn:\${AWS::Partition}:${service}:\${AWS::Region}:\${AWS::AccountId}:${rest}`);

/** Names begin with service and stage, so that one account holds several stacks. */
export const STACK = '${self:service}-${self:provider.stage}';

/** IAM is global, so the paths of roles that the service creates name the region, too. */
export const ROLE_PATHS = {
  TrainingPolicy: '/tidewheel/${self:provider.stage}/${self:provider.region}/training/',
  HostPolicy: '/tidewheel/${self:provider.stage}/${self:provider.region}/hosts/',
} as const;

/** `plan-shards` becomes `PlanShards`. */
export const pascalCase = (name: string): string =>
  name.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());

export const roleId = (functionName: string): string => `${pascalCase(functionName)}Role`;

/** The logical id that osls derives from a function's name. */
export const lambdaId = (functionName: string): string =>
  `${functionName.charAt(0).toUpperCase()}${functionName.slice(1).replaceAll('-', 'Dash')}LambdaFunction`;

export function toYaml(value: Value, comment: string): string {
  const document = new Document(value, { version: '1.1', aliasDuplicateObjects: false });
  document.commentBefore = comment.replaceAll(/^/gm, ' ');
  visit(document, {
    Map: (_, map) => shortForm(map),
    Seq: (_, list) => {
      list.flow = list.items.every(isScalar);
    },
  });
  return document.toString({ lineWidth: 0, singleQuote: true, flowCollectionPadding: false });
}

/** `{ 'Fn::Sub': text }` is written `!Sub text`, as people write it. */
function shortForm(map: Node): Node | undefined {
  const [pair, ...more] = isMap(map) ? map.items : [];
  if (pair === undefined || more.length > 0 || !isScalar(pair.key)) return undefined;
  const { key, value } = pair;
  if (key.value === 'Ref' && isScalar(value)) return tagged('!Ref', String(value.value));
  if (key.value === 'Fn::Sub' && isScalar(value)) return tagged('!Sub', String(value.value));
  if (key.value !== 'Fn::GetAtt' || !isSeq(value)) return undefined;
  return tagged('!GetAtt', value.items.map((item) => (isScalar(item) ? String(item.value) : '')).join('.'));
}

function tagged(tag: string, text: string): Scalar {
  const scalar = new Scalar(text);
  scalar.tag = tag;
  return scalar;
}
