/** What a deployment does beyond osls: it checks the parameters and shapes the template by them. */
const { parse, problemsOf, withDefaults } = require('./parameters.cjs');
const { shapeTemplate } = require('./shape-template.cjs');

class TidewheelPlugin {
  constructor(serverless) {
    this.serverless = serverless;
    this.hooks = { 'after:aws:package:finalize:mergeCustomProviderResources': () => this.shape() };
  }

  /** osls reads parameters after this. */
  asyncInit() {
    const problems = problemsOf(this.parameters());
    if (problems.length > 0) throw new this.serverless.classes.Error(problems.join('\n'), 'TIDEWHEEL_PARAMETERS');
  }

  parameters() {
    return parse(this.serverless.processedInput.options.param ?? []);
  }

  shape() {
    const { provider } = this.serverless.service;
    const shaped = shapeTemplate(provider.compiledCloudFormationTemplate, withDefaults(this.parameters()));
    provider.compiledCloudFormationTemplate = shaped;
  }
}

module.exports = TidewheelPlugin;
