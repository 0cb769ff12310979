/** The parameters of a deployment (`--param="name=value"`): their defaults, and what each takes. */

const YES_OR_NO = { pattern: /^(yes|no)$/, remedy: 'write yes or no' };

/** A value that equals the default is as good as none. */
const PARAMETERS = {
  alarmEmail: { default: '', pattern: /^[^@\s]+@[^@\s]+$/, remedy: 'write an address of e-mail' },
  alarmTopic: { default: '', pattern: /^arn:[^:]+:sns:/, remedy: 'write the ARN of an SNS topic' },
  dashboard: { default: 'yes', ...YES_OR_NO },
  images: { default: 'no', ...YES_OR_NO },
  packageIndexSecret: {
    default: '',
    pattern: /^arn:[^:]+:secretsmanager:/,
    remedy: 'write the ARN of a secret in Secrets Manager',
  },
  packers: { default: '100', pattern: /^[1-9]\d{0,4}$/, remedy: 'write a number from 1 to 10000' },
  tracing: { default: 'no', ...YES_OR_NO },
};

/** @returns {Record<string, string>} each given parameter by its name */
function parse(given) {
  const pairs = given.map((text) => {
    const at = text.indexOf('=');
    return at < 1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1).trim()];
  });
  return Object.fromEntries(pairs);
}

/** @returns {string[]} what is wrong, with the remedy */
function problemsOf(parameters) {
  return Object.entries(parameters).flatMap(([name, value]) => {
    const known = PARAMETERS[name];
    if (known === undefined) return [`--param="${name}=${value}": known are ${Object.keys(PARAMETERS).join(', ')}`];
    return known.pattern.test(value) ? [] : [`--param="${name}=${value}": ${known.remedy}`];
  });
}

/** @returns {Record<string, string>} a value for every parameter */
const withDefaults = (parameters) => ({
  ...Object.fromEntries(Object.entries(PARAMETERS).map(([name, known]) => [name, known.default])),
  ...parameters,
});

module.exports = { parse, problemsOf, withDefaults };
