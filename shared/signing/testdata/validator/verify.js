// Has independent validators check messages, and says what each thinks.
//
// stdin:  {"port": 4443, "checks": [{"validator": "sns-validator", "body": "…"}]}
// stdout: one JSON string a check, in order: "" for a good signature, else the
//         validator's own complaint.
//
// Certificates come from 127.0.0.1:port by TLS, which NODE_EXTRA_CA_CERTS must
// make trusted. The modules are found by NODE_PATH.
'use strict';

const https = require('https');
const tls = require('tls');
const SNSValidator = require('sns-validator');
const PayloadValidator = require('sns-payload-validator');

const { port, checks } = JSON.parse(require('fs').readFileSync(0, 'utf8'));

// This one lets its host pattern be set.
const lenient = new SNSValidator(new RegExp(`^127\\.0\\.0\\.1:${port}$`));

// This one insists on an amazonaws.com host but takes an agent, which connects
// to the test's server whatever the host is called.
const agent = new https.Agent();
agent.createConnection = () => tls.connect({ host: '127.0.0.1', port, servername: 'example.com' });
const strict = new PayloadValidator({ requestAgent: agent, useCache: false });

const validators = {
  'sns-validator': (body) => new Promise((resolve, reject) => {
    lenient.validate(body, (error, message) => (error ? reject(error) : resolve(message)));
  }),
  'sns-payload-validator': (body) => strict.validate(body),
};

(async () => {
  for (const { validator, body } of checks) {
    let complaint = '';
    try {
      await validators[validator](body);
    } catch (error) {
      complaint = String(error.message || error);
    }
    console.log(JSON.stringify(complaint));
  }
})();
