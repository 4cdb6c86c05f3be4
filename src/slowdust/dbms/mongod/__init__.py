"""What the family of MongoDB's server mongod is made of."""
