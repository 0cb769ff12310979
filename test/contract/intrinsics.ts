/** Puts names into a packaged template as CloudFormation would, so that policies can be read as what they become. */
import type { Template } from './packaged.ts';

export const ACCOUNT = '123456789012';
export const REGION = 'us-east-1';

const PSEUDO: Readonly<Record<string, string>> = {
  'AWS::Partition': 'aws',
  'AWS::Region': REGION,
  'AWS::AccountId': ACCOUNT,
  'AWS::URLSuffix': 'amazonaws.com',
  'AWS::StackName': 'tidewheel-dev',
};

/** What Ref gives, and the ARN, for a resource of the template. */
interface Named {
  readonly ref: string;
  readonly arn: string;
}

const regional = (service: string, rest: string): string => `arn:aws:${service}:${REGION}:${ACCOUNT}:${rest}`;

function nameOf(id: string, type: string, properties: Readonly<Record<string, unknown>>): Named {
  const given = (field: string): string =>
    typeof properties[field] === 'string' ? properties[field] : `tw-${id.toLowerCase()}`;
  switch (type) {
    case 'AWS::S3::Bucket':
      return { ref: given('BucketName'), arn: `arn:aws:s3:::${given('BucketName')}` };
    case 'AWS::DynamoDB::Table':
      return { ref: given('TableName'), arn: regional('dynamodb', `table/${given('TableName')}`) };
    case 'AWS::SQS::Queue':
      return {
        ref: `https://sqs.${REGION}.amazonaws.com/${ACCOUNT}/${given('QueueName')}`,
        arn: regional('sqs', given('QueueName')),
      };
    case 'AWS::Logs::LogGroup': {
      const name = given('LogGroupName');
      return { ref: name, arn: regional('logs', `log-group:${name}:*`) };
    }
    case 'AWS::IAM::Role':
      return { ref: given('RoleName'), arn: `arn:aws:iam::${ACCOUNT}:role/${given('RoleName')}` };
    case 'AWS::IAM::ManagedPolicy': {
      const arn = `arn:aws:iam::${ACCOUNT}:policy/tw-${id.toLowerCase()}`;
      return { ref: arn, arn };
    }
    case 'AWS::Lambda::Function':
      return { ref: given('FunctionName'), arn: regional('lambda', `function:${given('FunctionName')}`) };
    case 'AWS::StepFunctions::StateMachine': {
      const arn = regional('states', `stateMachine:${given('StateMachineName')}`);
      return { ref: arn, arn };
    }
    case 'AWS::Events::Rule':
      return { ref: given('Name'), arn: regional('events', `rule/${given('Name')}`) };
    case 'AWS::Scheduler::ScheduleGroup':
      return { ref: given('Name'), arn: regional('scheduler', `schedule-group/${given('Name')}`) };
    default:
      return { ref: given('Name'), arn: regional('unknown', id) };
  }
}

/** What an `Fn::If` leaves out. */
const NO_VALUE = Symbol('AWS::NoValue');

/** @throws when the value uses an intrinsic that this does not know, rather than guessing */
export function resolve(template: Template, value: unknown): unknown {
  if (Array.isArray(value))
    return value.map((item) => resolve(template, item)).filter((item) => item !== NO_VALUE);
  if (typeof value !== 'object' || value === null) return value;
  const [first, ...more] = Object.entries(value);
  if (first === undefined || more.length > 0 || !(first[0] === 'Ref' || first[0].startsWith('Fn::'))) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolve(template, item)]));
  }
  return intrinsic(template, first[0], first[1]);
}

function intrinsic(template: Template, name: string, argument: unknown): unknown {
  switch (name) {
    case 'Ref':
      if (argument === 'AWS::NoValue') return NO_VALUE;
      return reference(template, String(argument));
    case 'Fn::GetAtt': {
      const path = Array.isArray(argument) ? argument.map(String) : String(argument).split('.');
      return reference(template, path.join('.'));
    }
    case 'Fn::Sub':
      return substitute(template, argument);
    case 'Fn::If': {
      const [condition, then, otherwise] = argument as [string, unknown, unknown];
      const holds = resolve(template, template.Conditions?.[condition]);
      return resolve(template, holds === true ? then : otherwise);
    }
    case 'Fn::Not':
      return resolve(template, (argument as [unknown])[0]) !== true;
    case 'Fn::Equals': {
      const [one, other] = argument as [unknown, unknown];
      return resolve(template, one) === resolve(template, other);
    }
    case 'Fn::Join': {
      const [separator, parts] = argument as [string, unknown[]];
      return parts.map((part) => String(resolve(template, part))).join(separator);
    }
    default:
      throw new Error(`the template uses ${name}, which these tests do not read yet`);
  }
}

function substitute(template: Template, argument: unknown): string {
  const [text, given] = Array.isArray(argument)
    ? (argument as [string, Record<string, unknown>])
    : [String(argument), {}];
  return text
    .replace(/\$\{([^!}][^}]*)\}/g, (_, name: string) =>
      name in given ? String(resolve(template, given[name])) : reference(template, name),
    )
    .replaceAll('${!', '${');
}

function reference(template: Template, path: string): string {
  const pseudo = PSEUDO[path];
  if (pseudo !== undefined) return pseudo;
  const [id = '', attribute] = path.split('.');
  const resource = template.Resources[id];
  if (resource === undefined) throw new Error(`the template refers to ${id}, which it does not hold`);
  const { ref, arn } = nameOf(id, resource.Type, resource.Properties);
  if (attribute === undefined) return ref;
  return attribute === 'Arn' ? arn : `${ref}.${attribute}`;
}
