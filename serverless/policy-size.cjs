/**
 * Whether IAM takes the policies of a template. Long lists (`--param="subnets=…"`) and a long bucket name may make them
 * too long, and CloudFormation would say so only in the middle of a deployment.
 */

/** In characters. https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html */
const MANAGED_POLICY = 6_144;
/** Of all inline policies of a role together. */
const INLINE_POLICIES = 10_240;

/** What CloudFormation appends to the names that it gives. */
const SUFFIX = 'XXXXXXXXXXXXX';
const ACCOUNT = '123456789012';
const MOST_BUCKET_NAME = 63;
const LEFT_OUT = Symbol('AWS::NoValue');

/**
 * @param template a packaged one, shaped by the parameters
 * @param place stackName and region
 * @returns {string[]} a sentence for each policy that is too long
 */
function policyProblems(template, place) {
  const size = (document) => JSON.stringify(filled(document, { template, ...place })).length;
  return Object.entries(template.Resources).flatMap(([id, { Type, Properties }]) => {
    if (Type === 'AWS::IAM::ManagedPolicy') return problem(id, size(Properties.PolicyDocument), MANAGED_POLICY);
    if (Type !== 'AWS::IAM::Role') return [];
    const documents = (Properties.Policies ?? []).map(({ PolicyDocument }) => size(PolicyDocument));
    return problem(id, documents.reduce((sum, each) => sum + each, 0), INLINE_POLICIES);
  });
}

const problem = (id, characters, limit) =>
  characters <= limit
    ? []
    : [
        `${id} would have ${characters} characters, and IAM takes ${limit}: name fewer subnets, securityGroups, imageAccounts ` +
          'or sharedPrefixes (--param), or allow all networks with subnets=* and securityGroups=*',
      ];

/** The value with names as long as CloudFormation's. */
function filled(value, context) {
  if (Array.isArray(value)) return value.map((each) => filled(each, context)).filter((each) => each !== LEFT_OUT);
  if (typeof value !== 'object' || value === null) return value;
  const [[name, argument] = [], ...more] = Object.entries(value);
  const evaluated = more.length === 0 ? FUNCTIONS[name] : undefined;
  if (evaluated !== undefined) return evaluated(argument, context);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filled(each, context)]));
}

/** CloudFormation's own, of those that stand in policies. */
const FUNCTIONS = {
  Ref: (path, context) => (path === 'AWS::NoValue' ? LEFT_OUT : nameOf(path, context)),
  'Fn::GetAtt': (path, context) => nameOf([path].flat().join('.'), context),
  'Fn::Sub': (text, context) => substituted(text, context),
  'Fn::If': ([condition, then, otherwise], context) =>
    filled(holds(context.template.Conditions[condition], context) ? then : otherwise, context),
};

const substituted = (text, context) =>
  text.replace(/\$\{([^!}]+)\}/g, (_, path) => nameOf(path, context)).replaceAll('${!', '${');

function holds(condition, context) {
  const { 'Fn::Not': not, 'Fn::Equals': equals } = condition;
  if (not !== undefined) return !holds(not[0], context);
  const [one, other] = equals.map((each) => filled(each, context));
  return one === other;
}

function nameOf(path, { template, stackName, region }) {
  const pseudo = { 'AWS::Partition': 'aws', 'AWS::Region': region, 'AWS::AccountId': ACCOUNT, 'AWS::URLSuffix': 'amazonaws.com' };
  if (pseudo[path] !== undefined) return pseudo[path];
  const [id, attribute] = path.split('.');
  const name = `${stackName}-${id}-${SUFFIX}`;
  if (template.Resources[id]?.Type === 'AWS::S3::Bucket') {
    const bucket = name.toLowerCase().slice(0, MOST_BUCKET_NAME);
    return attribute === 'Arn' ? `arn:aws:s3:::${bucket}` : bucket;
  }
  // Ref of a topic, a policy or a state machine gives an ARN.
  return `arn:aws:service:${region}:${ACCOUNT}:resource/${name}`;
}

module.exports = { policyProblems };
