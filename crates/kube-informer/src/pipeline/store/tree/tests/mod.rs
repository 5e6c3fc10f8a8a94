mod measure;
mod model;
