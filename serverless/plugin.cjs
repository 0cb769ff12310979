/**
 * What a deployment does beyond osls: it remembers and checks the parameters, shapes the template by them, and refuses to
 * remove a stack with unfinished runs.
 */
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { CloudFormationClient, DescribeStacksCommand } = require('@aws-sdk/client-cloudformation');
const { version } = require('../package.json');
const { adoptionProblems } = require('./adoption.cjs');
const { arnProblems, combinationProblems, conflicts, effective, parse, problemsOf, regionProblems, withDefaults } = require('./parameters.cjs');
const { policyProblems } = require('./policy-size.cjs');
const { removalProblem } = require('./removal.cjs');
const { shapeTemplate } = require('./shape-template.cjs');

/** Of the stack, so that the next deployment finds the parameters on any machine. */
const OUTPUT = 'Parameters';
const TEMPLATE = 'cloudformation-template-update-stack.json';

/**
 * A temporary folder for all of osls, removed when it ends. serverless-esbuild copies each function into a folder there,
 * and removes it as if it were empty, so that every packaging would leave all functions behind.
 */
function ownTemporaryFolder() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidewheel-package-'));
  for (const name of ['TMPDIR', 'TMP', 'TEMP']) process.env[name] = folder;
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
}

class TidewheelPlugin {
  constructor(serverless) {
    ownTemporaryFolder();
    this.serverless = serverless;
    this.provider = serverless.getProvider('aws');
    this.hooks = {
      'after:aws:package:finalize:mergeCustomProviderResources': () => this.shape(),
      'before:deploy:deploy': () => this.checkDeployment(),
      'before:remove:remove': () => this.checkRemoval(),
    };
  }

  /** Before osls reads the parameters: it finds those of earlier deployments beside those of the command line. */
  async asyncInit() {
    const { commands, options } = this.serverless.processedInput;
    this.given = parse(options.param ?? []);
    const region = this.provider.getRegion();
    this.refuse([...problemsOf(this.given), ...regionProblems(region)]);
    const isDeployed = commands[0] === 'deploy' && options.package === undefined;
    const stack = isDeployed ? await this.stack() : undefined;
    this.parameters = effective(this.given, stack?.parameters);
    this.refuse([...combinationProblems(this.parameters), ...arnProblems(this.parameters, region)]);
    if (isDeployed) await this.checkAdoption(this.parameters);
    this.serverless.configurationInput.params = { default: this.parameters };
  }

  shape() {
    const { provider } = this.serverless.service;
    const shaped = shapeTemplate(provider.compiledCloudFormationTemplate, withDefaults(this.parameters));
    const stackName = this.provider.naming.getStackName();
    this.refuse(policyProblems(shaped, { stackName, region: this.provider.getRegion() }));
    shaped.Outputs = { ...shaped.Outputs, [OUTPUT]: { Value: JSON.stringify(this.parameters) }, Release: { Value: version } };
    provider.compiledCloudFormationTemplate = shaped;
  }

  /** What is deployed may come from an earlier `osls package`. */
  async checkDeployment() {
    const { serviceDir, service, processedInput } = this.serverless;
    const folder = processedInput.options.package ?? service.package.path ?? path.join(serviceDir, '.serverless');
    const { Outputs } = JSON.parse(fs.readFileSync(path.join(folder, TEMPLATE), 'utf8'));
    const chosen = JSON.parse(Outputs[OUTPUT].Value);
    const stack = await this.stack();
    this.refuse(conflicts(chosen, stack?.parameters, this.given));
    await this.checkAdoption(chosen);
  }

  /** Also before anything is packaged: that takes a minute. */
  async checkAdoption(chosen) {
    if (chosen.bucket === undefined && chosen.table === undefined) return;
    const config = await this.provider.getAwsSdkV3Config();
    this.refuse(await adoptionProblems(config, chosen, await this.provider.getAccountId()));
  }

  async checkRemoval() {
    if (this.given.unfinishedRuns === 'leave') return;
    const stack = await this.stack();
    if (stack?.outputs.TableName === undefined) return;
    const where = { stage: this.provider.getStage(), region: this.provider.getRegion() };
    const problem = await removalProblem(await this.provider.getAwsSdkV3Config(), { ...stack.outputs, ...where });
    if (problem !== undefined) this.refuse([problem]);
  }

  /** @returns outputs and remembered parameters; undefined where there is no stack */
  async stack() {
    const client = new CloudFormationClient(await this.provider.getAwsSdkV3Config());
    const StackName = this.provider.naming.getStackName();
    const answer = await client.send(new DescribeStacksCommand({ StackName })).catch((error) => {
      if (/does not exist/.test(error.message)) return undefined;
      throw error;
    });
    const found = answer?.Stacks?.[0];
    // osls creates a stack with the bucket of its deployments first; if it fails then, nothing of ours is there.
    if (found?.Outputs?.some(({ OutputKey }) => OutputKey === 'TableName') !== true) return undefined;
    const outputs = Object.fromEntries(found.Outputs.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]));
    return { outputs, parameters: JSON.parse(outputs[OUTPUT] ?? '{}') };
  }

  refuse(problems) {
    if (problems.length > 0) throw new this.serverless.classes.Error(problems.join('\n'), 'TIDEWHEEL_REFUSED');
  }
}

module.exports = TidewheelPlugin;
