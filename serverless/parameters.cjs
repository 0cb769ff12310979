/** The parameters of a deployment (`--param="name=value"`): their defaults, and what each takes. */

/** How many items of a plan are packed side by side. */
const packers = require('../functions/run/parallel-packers.json');

const YES_OR_NO = { pattern: /^(yes|no)$/, remedy: 'write yes or no' };
const CLAIMS = {
  pattern: /^[^\s,=]+=[^\s,=[\]]+(, ?[^\s,=]+=[^\s,=[\]]+)*$/,
  remedy: 'write claim=value, such as cognito:groups=ml-operators, with commas between several and no space in a value',
};
const REFUSED = { remedy: 'see docs/deploy.md' };

/** A stack remembers these. */
const REMEMBERED = {
  alarmEmail: { default: '', pattern: /^[^@\s]+@[^@\s]+$/, remedy: 'write an address of e-mail' },
  alarmTopic: { default: '', pattern: /^arn:[^:]+:sns:/, remedy: 'write the ARN of an SNS topic' },
  bucket: { default: '', pattern: /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/, remedy: 'write the name of a bucket' },
  dashboard: { default: 'yes', ...YES_OR_NO },
  imageAccounts: {
    default: '',
    pattern: /^\d{12}(, ?\d{12})*$/,
    remedy: 'write numbers of accounts, with commas between them',
  },
  images: { default: 'no', ...YES_OR_NO },
  kmsKey: {
    default: '',
    pattern: /^arn:[^:]+:kms:[^:]+:\d{12}:key\/[\w-]+$/,
    remedy: 'write the ARN of a key; an alias would do for the bucket but not in a policy',
  },
  // S3 wants other characters of a filter encoded, and refuses filters that overlap (notifications.yml).
  marker: {
    default: '_SUCCESS',
    pattern: /^(?!.*\.(yaml|check)$)[\w.-]{1,100}$/,
    remedy: 'write a name of letters, digits, dots, hyphens and underscores that ends neither in .yaml nor in .check',
  },
  notify: { default: 'objects', pattern: /^(objects|markers)$/, remedy: 'write objects or markers' },
  oidcAudience: {
    default: '',
    pattern: /^[^\s,]+(, ?[^\s,]+)*$/,
    remedy: 'write the client id that the issuer knows, with commas between several',
  },
  // API Gateway compares it with the claim iss of a token, to the last slash.
  oidcIssuer: {
    default: '',
    // On loopback, beside a local region.
    pattern: /^(https:\/\/|http:\/\/127\.0\.0\.1:)[^\s?#]+$/,
    remedy: 'write its address with https://, as in the claim iss of its tokens',
  },
  oidcOperators: { default: '', ...CLAIMS },
  oidcScopes: {
    default: 'openid email',
    pattern: /^(?=.*\bopenid\b)[!#-[\]-~]+( [!#-[\]-~]+)*$/,
    remedy: 'write openid and what else the page asks the issuer for, with spaces between them',
  },
  oidcViewers: { default: '', ...CLAIMS },
  packageIndexRepository: {
    default: '',
    pattern: /^arn:[^:]+:codeartifact:[^:]+:\d{12}:repository\/[^/]+\/[^/]+$/,
    remedy: 'write the ARN of a repository in CodeArtifact',
  },
  packageIndexSecret: {
    default: '',
    pattern: /^arn:[^:]+:secretsmanager:/,
    remedy: 'write the ARN of a secret in Secrets Manager',
  },
  packers: {
    default: String(packers.default),
    pattern: /^([1-9]\d{0,3}|10000)$/,
    remedy: `write a number from ${packers.least} to ${packers.most}`,
  },
  registries: { default: '', pattern: /^yes$/, remedy: 'write yes, or forget it' },
  securityGroups: {
    default: '',
    pattern: /^(\*|sg-\w+(, ?sg-\w+)*)$/,
    remedy: 'write ids such as sg-0123, with commas between them, or *',
  },
  sharedPrefixes: {
    default: '',
    pattern: /^s3:\/\/[^,]+\/(, ?s3:\/\/[^,]+\/)*$/,
    remedy: 'write s3://bucket/prefix/, with commas between several',
  },
  subnets: {
    default: '',
    pattern: /^(\*|subnet-\w+(, ?subnet-\w+)*)$/,
    remedy: 'write ids such as subnet-0123, with commas between them, or *',
  },
  table: { default: '', pattern: /^[\w.-]{3,255}$/, remedy: 'write the name of a table' },
  tracing: { default: 'no', ...YES_OR_NO },
  versioning: { default: 'no', ...YES_OR_NO },
};

/** For one command. */
const ONCE = {
  forget: { pattern: /^\w+(,\w+)*$/, remedy: 'write names of parameters, with commas between them' },
  unfinishedRuns: { pattern: /^leave$/, ...REFUSED },
};

/** What may not change while the stack lives: its functions would look for their records elsewhere. */
const FIXED = ['bucket', 'table'];

/** @returns {Record<string, string>} each given parameter by its name */
function parse(given) {
  const pairs = given.map((text) => {
    const at = text.indexOf('=');
    return at < 1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1).trim()];
  });
  return Object.fromEntries(pairs);
}

/** @returns {string[]} what is wrong with each value, with the remedy */
function problemsOf(given) {
  const all = { ...REMEMBERED, ...ONCE };
  return Object.entries(given).flatMap(([name, value]) => {
    const known = all[name];
    if (known === undefined) return [`--param="${name}=${value}": known are ${Object.keys(all).join(', ')}`];
    return known.pattern.test(value) ? [] : [`--param="${name}=${value}": ${known.remedy}`];
  });
}

/**
 * @param parameters `effective` ones
 * @returns {string[]} what does not go together
 */
function combinationProblems(parameters) {
  const { alarmEmail, alarmTopic, bucket, versioning } = parameters;
  const problems = [];
  if (alarmEmail !== undefined && alarmTopic !== undefined)
    problems.push('alarmEmail and alarmTopic exclude each other: subscribe the address to your topic');
  if (bucket !== undefined && versioning !== undefined)
    problems.push('bucket and versioning exclude each other: set versioning on the bucket');
  return [...problems, ...peopleProblems(parameters)];
}

/** An issuer such as Google gives anyone a token for a client id, so who may call is said by claims, never by default. */
function peopleProblems({ oidcIssuer, oidcAudience, oidcOperators, oidcViewers }) {
  const rest = { oidcAudience, 'oidcOperators or oidcViewers': oidcOperators ?? oidcViewers };
  const names = Object.keys(rest).filter((name) => (rest[name] === undefined) === (oidcIssuer !== undefined));
  if (names.length === 0) return [];
  return [
    oidcIssuer === undefined
      ? `${names.join(' and ')} need oidcIssuer: name the issuer of the tokens`
      : `oidcIssuer needs ${names.join(' and ')}: a token of another client or person would pass`,
  ];
}

/** Other partitions differ in service principals, in the accounts of training images and in where prices are read. */
const regionProblems = (region) =>
  /^(cn|us-gov|us-iso[a-z]?|eusc|eu-isoe)-/.test(region)
    ? [`${region} lies in another partition of AWS, where Tidewheel has no images and prices: deploy elsewhere, such as us-east-1`]
    : [];

/** Whose ARNs must lie in the region of the stack, and why. */
const IN_REGION = {
  alarmTopic: 'alarms publish to topics of their own region',
  kmsKey: 'S3 encrypts with keys of the region of the bucket',
};

/**
 * @param parameters `effective` ones
 * @returns {string[]} which ARNs lie in another region, where CloudFormation would fail or S3 refuse every object
 */
function arnProblems(parameters, region) {
  return Object.entries(IN_REGION).flatMap(([name, why]) => {
    const own = parameters[name]?.split(':')[3];
    return own === undefined || own === region
      ? []
      : [`--param="${name}=${parameters[name]}" is of ${own}, and the stack of ${region}: ${why}`];
  });
}

const forgotten = (given) => (given.forget ?? '').split(',').filter((name) => name !== '');

/**
 * What a deployment is made with: the given parameters, and those that the stack remembers from earlier ones.
 * @param stack the remembered parameters, or undefined where there is no stack
 */
function effective(given, stack) {
  const remembered = without(stack ?? {}, forgotten(given));
  return { ...remembered, ...without(given, Object.keys(ONCE)) };
}

const without = (record, names) =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));

/**
 * @param chosen the parameters of the template that is about to be deployed
 * @param stack as for `effective`
 * @returns {string[]} why it must not be deployed, with the remedy
 */
function conflicts(chosen, stack, given) {
  if (stack === undefined) return [];
  const lost = Object.keys(stack).filter(
    (name) => chosen[name] === undefined && !forgotten(given).includes(name),
  );
  const moved = FIXED.filter((name) => chosen[name] !== stack[name]);
  return [
    ...lost.map((name) => `the package was made without --param="${name}=${stack[name]}", which the stack has`),
    ...moved.map(
      (name) =>
        `the ${name} of a stack cannot change (${stack[name] ?? 'its own'} to ${chosen[name] ?? 'its own'}): deploy another stage`,
    ),
  ];
}

/** @returns {Record<string, string>} a value for every parameter */
const withDefaults = (parameters) => ({
  ...Object.fromEntries(Object.entries(REMEMBERED).map(([name, known]) => [name, known.default])),
  ...parameters,
});

module.exports = { arnProblems, combinationProblems, conflicts, effective, parse, problemsOf, regionProblems, withDefaults };
